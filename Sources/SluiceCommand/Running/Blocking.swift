internal import Dispatch
internal import Synchronization

/// Waits for an async function on a thread that is allowed to block.
enum Blocking {
    static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let box = Box<Value>()
        let semaphore = DispatchSemaphore(value: 0)
        Task {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            box.result.withLock { $0 = result }
            semaphore.signal()
        }
        semaphore.wait()
        guard let result = box.result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }

    private final class Box<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)
    }
}
