"""Counts checks and prints what failed."""


class Report:
    def __init__(self, most=20):
        self.passed = self.failed = 0
        self.most = most

    def check(self, ok, what):
        """One check; what says which, and is printed when it failed."""
        if ok:
            self.passed += 1
            return True
        self.failed += 1
        if self.failed <= self.most:
            print(f"FAIL {what}", flush=True)
        return False

    def section(self, name, before):
        print(f"{name}: {self.passed - before[0]} passed, {self.failed - before[1]} failed", flush=True)

    def counts(self):
        return self.passed, self.failed
