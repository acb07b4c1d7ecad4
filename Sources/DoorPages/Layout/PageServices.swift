internal import Commands
internal import Door
internal import DoorLive
internal import HTTPTypes
internal import Host
internal import Queue
internal import Store

/// The services that pages use.
struct PageServices: Sendable {
    let context: DoorContext
    let live: LivePart
    let notices = Notices()

    /// Runs a verb or a reading of the queue on a thread of its own.
    func queue<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws(StoreError) -> Value
    ) async throws(Problem) -> Value {
        let access = context.client.access
        return try await store { _ throws(StoreError) in try body(access) }
    }

    /// Reads or writes the store, which blocks, on a thread.
    /// - Throws: a problem where the store cannot.
    func store<Value: Sendable>(
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value
    ) async throws(Problem) -> Value {
        do throws(StoreError) {
            return try await onThread("door-page") { [store = context.client.store] () throws(StoreError) in
                try body(store)
            }
        } catch {
            throw Problem(error)
        }
    }
}

extension Problem {
    /// Messages of the store may name files of the server: only those about a command or a value are shown.
    init(_ error: StoreError) { self.init(SluiceError(error)) }

    init(_ error: SluiceError) {
        switch error.code {
        case .noSuchCommand, .ambiguous: self.init(.notFound, "not-found", Self.sentence(error.message))
        case .notAllowed, .conflict: self.init(.conflict, "status-conflict", Self.sentence(error.message))
        case .invalid, .usage, .source: self.init(.badRequest, "invalid-form", Self.sentence(error.message))
        case .tryAgain:
            self.init(
                .serviceUnavailable, "store-unavailable", "The store is busy; try again in a moment.",
                fields: [.retryAfter: "1"])
        case .cannotWrite:
            self.init(
                .insufficientStorage, "insufficient-storage",
                "The disk of the server took no more data; make room there, and try again.")
        default: self = .failed
        }
    }

    private static func sentence(_ message: String) -> String {
        (message.prefix(1).uppercased() + message.dropFirst()).withFullStop
    }
}
