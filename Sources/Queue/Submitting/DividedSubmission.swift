internal import Commands
internal import Store
internal import Synchronization

/// A submission whose drafts are committed by several threads. It ends with the last of them.
final class DividedSubmission: Sendable {
    private struct State {
        var results: [Result<Submission, StoreError>?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let resume: @Sendable ([Result<Submission, StoreError>]) -> Void

    /// - Parameter count: of the drafts.
    init(count: Int, resume: @escaping @Sendable ([Result<Submission, StoreError>]) -> Void) {
        state = Mutex(State(results: Array(repeating: nil, count: count), missing: count))
        self.resume = resume
    }

    /// Takes the results of the drafts at `positions`.
    func add(_ results: [Result<Submission, StoreError>], at positions: [Int]) {
        let all = state.withLock { state -> [Result<Submission, StoreError>]? in
            for (position, result) in zip(positions, results) { state.results[position] = result }
            state.missing -= results.count
            return state.missing == 0 ? state.results.compactMap(\.self) : nil
        }
        if let all { resume(all) }
    }
}
