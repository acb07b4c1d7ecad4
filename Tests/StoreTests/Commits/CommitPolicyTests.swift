import Testing

@testable import Store

@Suite struct CommitPolicyTests {
    private typealias Failure = CommitPolicy.Failure
    private let retrying = CommitPolicy.untilCommitted

    private func error(_ code: StoreError.Code) -> StoreError { StoreError(code, "it failed", shard: 0) }

    @Test func `a commit of writes that are retried waits for a second, and a probe for 20 ms`() {
        #expect(retrying.timeout(isProbe: false) == .seconds(1))
        #expect(retrying.timeout(isProbe: true) == .milliseconds(20))
        #expect(CommitPolicy.once.timeout(isProbe: false) == .seconds(10))
    }

    @Test(arguments: [.full, .exhausted, .overloaded, .failed, .permission] as [StoreError.Code])
    func `writes are retried after an error that may pass, which is news each time`(code: StoreError.Code) {
        let failure = Failure(remedy: .retry, condition: .free, error: error(code), isNews: true)
        #expect(retrying.failure(error(code), in: .free) == failure)
    }

    @Test(arguments: [.missing, .foreign, .corrupt, .conflict, .invalid, .notFound] as [StoreError.Code])
    func `an error that does not pass divides the commit`(code: StoreError.Code) {
        let failure = Failure(remedy: .divide, condition: .free, error: error(code), isNews: false)
        #expect(retrying.failure(error(code), in: .free) == failure)
    }

    @Test(arguments: [(.busy, .locked), (.unreachable, .unreachable)] as [(StoreError.Code, CommitPolicy.Condition)])
    func `a shard that is locked or out of reach is news once`(
        code: StoreError.Code, condition: CommitPolicy.Condition
    ) {
        let first = retrying.failure(error(code), in: .free)
        #expect(first == Failure(remedy: .retry, condition: condition, error: error(code), isNews: true))
        let second = retrying.failure(error(code), in: condition)
        #expect(second == Failure(remedy: .retry, condition: condition, error: nil, isNews: false))
    }

    @Test func `a shard that is out of reach after a lock is news`() {
        let failure = retrying.failure(error(.unreachable), in: .locked)
        #expect(
            failure == Failure(remedy: .retry, condition: .unreachable, error: error(.unreachable), isNews: true))
    }

    @Test func `a locked shard is tried ten times a second, and one out of reach less and less often`() {
        let locked = [0, 1, 5, 1000].map { retrying.pause(in: .locked, after: $0) }
        #expect(locked == Array(repeating: .milliseconds(100), count: 4))
        let unreachable = [0, 1, 5, 1000].map { retrying.pause(in: .unreachable, after: $0) }
        #expect(unreachable == [50, 100, 1000, 1000].map { .milliseconds($0) })
    }

    @Test func `a shard that is not locked any more is news, whatever its error`() {
        let failure = retrying.failure(error(.corrupt), in: .locked)
        #expect(failure == Failure(remedy: .divide, condition: .free, error: error(.corrupt), isNews: true))
    }

    @Test func `a commit whose outcome is unknown is made again, under each policy`() {
        for (policy, isNews) in [(retrying, true), (CommitPolicy.once, false)] {
            let failure = Failure(remedy: .retry, condition: .free, error: error(.unknown), isNews: isNews)
            #expect(policy.failure(error(.unknown), in: .locked) == failure)
        }
    }

    @Test(arguments: [.busy, .unreachable, .full, .corrupt] as [StoreError.Code])
    func `writes whose callers wait fail at the first error`(code: StoreError.Code) {
        let failure = Failure(remedy: .fail, condition: .free, error: error(code), isNews: true)
        #expect(CommitPolicy.once.failure(error(code), in: .free) == failure)
    }

    @Test func `the delay of a retry doubles up to a second`() {
        let delays = [0, 1, 2, 3, 4, 5, 6, 1000].map { retrying.delay(after: $0) }
        #expect(delays == [50, 100, 200, 400, 800, 1000, 1000, 1000].map { .milliseconds($0) })
    }

    @Test func `a commit is divided until the write that fails is alone`() {
        // The optional writes may have been the cause: the others are tried together first.
        #expect(CommitPolicy.divide([1, 2, 3], hadOthers: true) == [[1, 2, 3]])
        #expect(CommitPolicy.divide([1, 2, 3], hadOthers: false) == [[1], [2], [3]])
        #expect(CommitPolicy.divide([1], hadOthers: false).isEmpty)
    }
}
