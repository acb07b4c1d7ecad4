internal import Synchronization

/// Counts the runs of each program in this worker, for its setting `concurrency`.
final class ProgramSlots: Sendable {
    private typealias Waiter = (number: Int, continuation: CheckedContinuation<Bool, Never>)

    private struct State {
        var taken: [String: Int] = [:]
        /// In the order of their calls.
        var waiters: [String: [Waiter]] = [:]
        var nextNumber = 0
    }

    private let state = Mutex(State())

    /// A slot, which is free again when this object goes away.
    final class Slot: Sendable {
        private let slots: ProgramSlots
        private let program: String

        fileprivate init(_ slots: ProgramSlots, _ program: String) {
            self.slots = slots
            self.program = program
        }

        deinit { slots.free(program) }
    }

    /// Waits for a slot of a program.
    /// - Throws: `CancellationError` where the task is cancelled meanwhile.
    func take(_ program: String, limit: Int) async throws -> Slot {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        let isTaken = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let result = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    guard state.taken[program, default: 0] >= limit else {
                        state.taken[program, default: 0] += 1
                        return true
                    }
                    state.waiters[program, default: []].append((number, continuation))
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            abandon(program, number)
        }
        guard isTaken else { throw CancellationError() }
        return Slot(self, program)
    }

    private func abandon(_ program: String, _ number: Int) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiters[program]?.firstIndex(where: { $0.number == number }) else { return nil }
            return state.waiters[program]?.remove(at: index)
        }
        waiter?.continuation.resume(returning: false)
    }

    /// Hands the slot to the first that waits.
    private func free(_ program: String) {
        let next = state.withLock { state -> Waiter? in
            if state.waiters[program]?.isEmpty == false { return state.waiters[program]?.removeFirst() }
            state.taken[program, default: 1] -= 1
            return nil
        }
        next?.continuation.resume(returning: true)
    }
}
