internal import Commands
internal import GRDB
internal import Glibc
internal import Synchronization
package import Transfers

/// The store of responses of a data directory, opened with its first use.
package final class ResponseStoreAccess: ResponseInvalidation {
    /// `<data>/cache`; nil where this process executes nothing.
    private let directory: String?
    private let maxBytes: Int64
    private let opened = Mutex<ResponseStore?>(nil)

    package init(directory: String?, maxBytes: Int64) {
        self.directory = directory
        self.maxBytes = maxBytes
    }

    /// Runs a body with the store, on a thread that may block.
    /// - Throws: ``CommandFailure`` that is charged where the store cannot be used.
    func use<Value: Sendable>(_ body: @escaping @Sendable (ResponseStore) throws -> Value) async throws -> Value {
        guard let directory else {
            throw CommandFailure(.final, reason: "this process has no data directory, so it keeps no responses")
        }
        return try await BlockingIO.copies.run(at: directory) { [self] in
            do {
                return try body(try store(directory))
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                let words = error is ResponseStoreError ? "\(error)" : "\(ResponseStoreError(error, directory))"
                throw CommandFailure(.command, reason: words, retryAfter: .seconds(60))
            }
        }
    }

    /// A request of this method has succeeded: the stored responses that it concerns are asked for again (RFC
    /// 9111, section 4.4). Nothing happens where no response was ever stored.
    ///
    /// The request stays a success where the store cannot be written; then its responses cannot be read either.
    package func invalidate(method: String, _ url: ResourceURL, _ response: ResponseHead) async {
        let urls = CacheInvalidation.urls(method: method, url: url, response: response)
        guard !urls.isEmpty, let directory, access("\(directory)/index.sqlite", F_OK) == 0 else { return }
        try? await use { try $0.invalidate(urls, now: .now) }
    }

    private func store(_ directory: String) throws -> ResponseStore {
        try opened.withLock { opened in
            if let opened { return opened }
            let store = try ResponseStore(directory: directory, maxBytes: maxBytes)
            try store.sweep()
            opened = store
            return store
        }
    }

    /// The path of a body that may not be stored. A reader deletes the file, or ``ResponseStore/sweep(olderThan:)``.
    func handOverPath(_ id: CommandID, claim: Int) -> String { "\(directory ?? "")/body/.\(id).\(claim).once.part" }

    /// The path of a body that is arriving.
    func partPath(_ id: CommandID, claim: Int) -> String { "\(directory ?? "")/body/.\(id).\(claim).part" }
}

/// The store of responses cannot be read or written.
package struct ResponseStoreError: Error, CustomStringConvertible {
    /// A sentence.
    package let description: String

    init(_ description: String) { self.description = description }

    init(_ error: any Error, _ path: String) {
        let words = (error as? DatabaseError).map { "\($0.resultCode): \($0.message ?? "no message")" } ?? error.words
        description = "cannot use the responses in \(path): \(words)"
    }
}
