package model

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Expressions of a profile: integers of 64 bits, checked. + - * and exact
// division, % , comparisons and ! && || with 0 as false and 1 as true, names
// of fields and definitions, and the functions of the table below.
const (
	maxExpr      = 1024 // bytes; the longest in use has 60
	maxExprDepth = 48
)

var (
	errOverflow = errors.New("result does not fit 64 bits")
	errZero     = errors.New("division by zero")
)

// expr is a parsed expression: a tree of operators over names and numbers.
type expr struct {
	op   string // "num", "name", "call" or the operator; unary minus is "neg"
	n    int64
	name string
	args []*expr
}

// scope gives the names of an expression their values.
type scope struct {
	ints  map[string]int64
	lists map[string][]int64
}

// functions by name: how many arguments, and whether the first is a list.
var functions = map[string]struct {
	args int
	list bool
}{
	"len":     {1, true},
	"product": {1, true},
	"at":      {2, true}, // entry of a list, counted from 0
	"min":     {2, false},
	"max":     {2, false},
	"ceildiv": {2, false},
}

// names calls do for every name that e uses.
func (e *expr) names(do func(name string, list bool)) {
	switch e.op {
	case "name":
		do(e.name, false)
	case "call":
		if functions[e.name].list {
			do(e.args[0].name, true)
			for _, arg := range e.args[1:] {
				arg.names(do)
			}
			return
		}
	}
	for _, arg := range e.args {
		arg.names(do)
	}
}

// uses reports whether e depends on a name.
func (e *expr) uses(name string) bool {
	found := false
	if e != nil {
		e.names(func(n string, list bool) { found = found || n == name && !list })
	}
	return found
}

// eval computes e. Errors: overflow, division by zero, division with a
// remainder, a name without a value.
func (e *expr) eval(in *scope) (int64, error) {
	switch e.op {
	case "num":
		return e.n, nil
	case "name":
		n, ok := in.ints[e.name]
		if !ok {
			return 0, fmt.Errorf("%s has no value", e.name)
		}
		return n, nil
	case "call":
		return e.call(in)
	case "!", "neg":
		n, err := e.args[0].eval(in)
		if err != nil {
			return 0, err
		}
		return unary(e.op, n)
	}
	return e.evalBinary(in)
}

func (e *expr) evalBinary(in *scope) (int64, error) {
	a, err := e.args[0].eval(in)
	if err != nil {
		return 0, err
	}
	// The second operand may be undefined where the first decides.
	if e.op == "&&" && a == 0 {
		return 0, nil
	}
	if e.op == "||" && a != 0 {
		return 1, nil
	}
	b, err := e.args[1].eval(in)
	if err != nil {
		return 0, err
	}
	return binary(e.op, a, b)
}

func (e *expr) call(in *scope) (int64, error) {
	if functions[e.name].list {
		return e.overList(in)
	}
	a, err := e.args[0].eval(in)
	if err != nil {
		return 0, err
	}
	b, err := e.args[1].eval(in)
	if err != nil {
		return 0, err
	}
	switch e.name {
	case "min":
		return min(a, b), nil
	case "max":
		return max(a, b), nil
	}
	return ceilDiv(a, b)
}

func (e *expr) overList(in *scope) (int64, error) {
	list, ok := in.lists[e.args[0].name]
	if !ok {
		return 0, fmt.Errorf("%s has no value", e.args[0].name)
	}
	switch e.name {
	case "len":
		return int64(len(list)), nil
	case "at":
		i, err := e.args[1].eval(in)
		if err != nil {
			return 0, err
		}
		if i < 0 || i >= int64(len(list)) {
			return 0, fmt.Errorf("%s has %d entries, none at %d", e.args[0].name, len(list), i)
		}
		return list[i], nil
	}
	product := int64(1)
	for _, n := range list {
		var err error
		if product, err = mul(product, n); err != nil {
			return 0, err
		}
	}
	return product, nil
}

func unary(op string, n int64) (int64, error) {
	if op == "!" {
		return truth(n == 0), nil
	}
	if n == math.MinInt64 {
		return 0, errOverflow
	}
	return -n, nil
}

func binary(op string, a, b int64) (int64, error) {
	switch op {
	case "+":
		return add(a, b)
	case "-":
		if b == math.MinInt64 {
			return 0, errOverflow
		}
		return add(a, -b)
	case "*":
		return mul(a, b)
	case "/", "%":
		return div(op, a, b)
	case "<":
		return truth(a < b), nil
	case "<=":
		return truth(a <= b), nil
	case ">":
		return truth(a > b), nil
	case ">=":
		return truth(a >= b), nil
	case "==":
		return truth(a == b), nil
	case "!=":
		return truth(a != b), nil
	}
	return truth(a != 0 && b != 0 || op == "||" && b != 0), nil
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func add(a, b int64) (int64, error) {
	sum := a + b
	if (sum > a) != (b > 0) && b != 0 {
		return 0, errOverflow
	}
	return sum, nil
}

func mul(a, b int64) (int64, error) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, errOverflow
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), nil
	}
	return int64(lo), nil
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func div(op string, a, b int64) (int64, error) {
	if b == 0 {
		return 0, errZero
	}
	if b == -1 {
		if op == "%" {
			return 0, nil
		}
		return unary("neg", a)
	}
	if op == "%" {
		return a % b, nil
	}
	if a%b != 0 {
		return 0, fmt.Errorf("%d is not a multiple of %d", a, b)
	}
	return a / b, nil
}

func ceilDiv(a, b int64) (int64, error) {
	if b <= 0 || a < 0 {
		return 0, errors.New("ceildiv takes a dividend from 0 and a divisor from 1")
	}
	q := a / b
	if a%b != 0 {
		q++
	}
	return q, nil
}

// parseExpr reads an expression.
func parseExpr(text string) (*expr, error) {
	if len(text) > maxExpr {
		return nil, fmt.Errorf("expression of %d bytes is over the limit of %d", len(text), maxExpr)
	}
	p := exprParser{text: text}
	e, err := p.binary(0, 0)
	if err == nil && p.peek() != "" {
		err = fmt.Errorf("unexpected %q", p.peek())
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q, at %d: %w", text, p.at, err)
	}
	return e, nil
}

type exprParser struct {
	text string
	at   int
}

// operators by precedence, weakest first.
var operators = [][]string{
	{"||"}, {"&&"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"},
}

func (p *exprParser) binary(level, depth int) (*expr, error) {
	if depth > maxExprDepth {
		return nil, errors.New("nested too deeply")
	}
	if level == len(operators) {
		return p.unary(depth + 1)
	}
	left, err := p.binary(level+1, depth)
	for err == nil && slices.Contains(operators[level], p.peek()) {
		op := p.next()
		var right *expr
		if right, err = p.binary(level+1, depth); err == nil {
			left = &expr{op: op, args: []*expr{left, right}}
		}
	}
	return left, err
}

func (p *exprParser) unary(depth int) (*expr, error) {
	if depth > maxExprDepth {
		return nil, errors.New("nested too deeply")
	}
	op := p.peek()
	if op != "!" && op != "-" {
		return p.primary(depth)
	}
	p.next()
	arg, err := p.unary(depth + 1)
	if op == "-" {
		op = "neg"
	}
	return &expr{op: op, args: []*expr{arg}}, err
}

func (p *exprParser) primary(depth int) (*expr, error) {
	token := p.peek()
	switch {
	case token == "":
		return nil, errors.New("unexpected end")
	case token == "(":
		p.next()
		e, err := p.binary(0, depth+1)
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case isDigit(token[0]):
		p.next()
		n, err := strconv.ParseInt(token, 10, 64)
		if err != nil {
			return nil, errOverflow
		}
		return &expr{op: "num", n: n}, nil
	case isLetter(token[0]):
		p.next()
		if p.peek() == "(" {
			return p.call(token, depth)
		}
		return &expr{op: "name", name: token}, nil
	}
	return nil, fmt.Errorf("unexpected %q", token)
}

func (p *exprParser) call(name string, depth int) (*expr, error) {
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("no function is called %q", name)
	}
	p.next()
	e := &expr{op: "call", name: name}
	for i := range f.args {
		if i > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		arg, err := p.binary(0, depth+1)
		if err != nil {
			return nil, err
		}
		if f.list && i == 0 && arg.op != "name" {
			return nil, fmt.Errorf("%s takes the name of a list", name)
		}
		e.args = append(e.args, arg)
	}
	return e, p.expect(")")
}

func (p *exprParser) expect(token string) error {
	if got := p.peek(); got != token {
		return fmt.Errorf("expected %q, found %q", token, got)
	}
	p.next()
	return nil
}

// next consumes the token that peek shows.
func (p *exprParser) next() string {
	token := p.peek()
	p.at += len(token)
	return token
}

// peek gives the next token, "" at the end. Tokens are names, numbers and
// operators; an unknown byte is a token of its own that nothing accepts.
func (p *exprParser) peek() string {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
	rest := p.text[p.at:]
	if rest == "" {
		return ""
	}
	n := 0
	for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
		n++
	}
	if n > 0 {
		return rest[:n]
	}
	if len(rest) > 1 && slices.Contains([]string{"||", "&&", "==", "!=", "<=", ">="}, rest[:2]) {
		return rest[:2]
	}
	return rest[:1]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// isName reports a name that expressions can use.
func isName(s string) bool {
	if s == "" || len(s) > 64 || !isLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isLetter(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return true
}
