internal import BuiltIn
internal import Commands
internal import Fetch
internal import Host
public import Operations
public import Queue
internal import Store

/// Apart from the client, which knows no operation.
extension SluiceClient {
    /// Opens the store of a data directory. It blocks, for up to 10 s while another process is making the
    /// store.
    ///
    /// - Parameters:
    ///   - path: the data directory, `./sluice-data` for the command line. A relative path starts at the
    ///     working directory.
    ///   - store: the URL of a store on a PostgreSQL server, `postgres://user@host/database`, that “sluice store create” has
    ///     made. The data directory then has what belongs to this machine. The default is nil: the store is in the
    ///     directory.
    ///   - operations: operations of your own, in addition to `upload` and `noop`. They check the payloads of
    ///     their types and read the destination. The default is none.
    ///   - create: make the directory and its store where there is none. The default is true.
    /// - Precondition: no two operations have the same type, and every type has the form `[a-z0-9.-]+`, at
    ///   most 64 characters. An operation of type `upload` or `noop` replaces the built-in one.
    /// - Throws: ``SluiceError``: `noStore` without a store where `create` is false, or on the server; `invalid` for a URL in
    ///   place of the path, and for a store that is none; `notPermitted` where the directory belongs to another user or is
    ///   open to others, or where the store belongs to another directory; `cannotWrite` where a new store cannot be
    ///   written; `tryAgain` where no descriptors are left, or where the server has not answered for 10 s. A damaged shard
    ///   is an error of the first use, not of this call.
    public convenience init(
        data path: String, store: String? = nil, operations: [any CommandOperation] = [], create: Bool = true
    ) throws(SluiceError) {
        try self.init(
            data: path, store: store, registry: BuiltInOperations.registry(and: operations), create: create)
    }
}

extension SluiceClient {
    /// Brings the stored response to a GET at once, and then the fresh one when it arrives (RFC 9111, RFC
    /// 5861): a sequence of at most two responses.
    ///
    /// The first needs no worker and no network. The second is the work of a command `fetch`, which waits while
    /// its server cannot be reached; a second call joins it. Ending the iteration leaves the command alone.
    /// A response for which `sluice.yaml` has a credential is not brought first, because a client does not
    /// read that file.
    /// - Parameters:
    ///   - url: http or https.
    ///   - headers: fields of the request. The default is none. Users with different secret fields have
    ///     different responses.
    ///   - mode: when the network is asked. The default is `both`.
    ///   - maxStale: no response that has been stale for longer is brought. Nil, the default: as the server
    ///     permits.
    ///   - options: of the command. Its unique key is that of the response. The default is their defaults.
    /// - Returns: the responses. The sequence throws ``SluiceError``: `usage` or `invalid` for a request that
    ///   is not valid, `failed` where there is no response and where the command has failed, and those of
    ///   ``submit(_:payload:options:)``; `CancellationError` where its task is cancelled.
    public func fetch(
        _ url: String, headers: [String: String] = [:], mode: FetchMode = .both, maxStale: Duration? = nil,
        options: SubmitOptions = SubmitOptions()
    ) -> AsyncThrowingStream<FetchedResponse, any Error> {
        var members: [JSONValue.Member] = [.init("url", .string(url)), .init("mode", .string(mode.rawValue))]
        if !headers.isEmpty {
            let fields = headers.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }
            members.append(.init("headers", .object(fields)))
        }
        if let maxStale { members.append(.init("maxStale", .integer(maxStale.components.seconds))) }
        let payload = JSONValue.object(members)
        return AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    try await fetch(payload, options) { continuation.yield($0) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func fetch(
        _ payload: JSONValue, _ options: SubmitOptions, _ show: (FetchedResponse) -> Void
    ) async throws {
        let (step, uniqueKey) = try await look(payload)
        var options = options
        (options.uniqueKey, options.uniqueFor) = (uniqueKey, .running)
        switch step {
        case .stored(let stored): show(try FetchedResponse(stored.result))
        case .refused(let sentence): throw SluiceError(.failed, sentence)
        case .storedThenRefresh(let stored):
            show(try FetchedResponse(stored.result))
            options.qos = .utility
            try await submit(Self.fetchType, payload: payload, options: options)
        case .ask(let first, _):
            if let first { show(try FetchedResponse(first.result)) }
            let id = try await submit(Self.fetchType, payload: payload, options: options)
            let outcome = try await wait(for: id)
            guard outcome.isSuccess else {
                throw SluiceError(.failed, outcome.reason ?? "the fetch \(outcome.status.clause)", id: id)
            }
            let result = (try? JSONValue(parsing: outcome.result ?? [])) ?? .null
            show(try FetchedResponse(result))
        }
    }

    private static let fetchType = "fetch"

    private func look(_ payload: JSONValue) async throws(SluiceError) -> (StoredFetch.Step, uniqueKey: String) {
        let directory = directory.cache
        return try await BlockingPool.shared.run { () throws(SluiceError) in
            do {
                return try StoredFetch.look(payload, in: directory)
            } catch let error as PayloadError {
                throw SluiceError(error)
            } catch {
                throw SluiceError(.failed, "\(error)")
            }
        }
    }
}

/// A response that ``SluiceClient/fetch(_:headers:mode:maxStale:options:)`` brings.
public struct FetchedResponse: Sendable, Equatable {
    /// Where the body comes from.
    public enum Source: String, Sendable {
        /// From the server, just now.
        case network
        /// From the store, confirmed by the server just now.
        case notModified
        /// From the store.
        case stored
    }

    /// Where the body comes from.
    public var source: Source
    /// The HTTP status, 200…599.
    public var status: Int
    /// Header fields by name, in lower case; those that say how to use the body.
    public var headers: [String: String]
    /// The whole body, unless ``isTruncated``. A response with `no-store` can be read once.
    public var body: [UInt8]
    /// Whether the body has only its first 64 KiB: the response was longer, and may not be stored.
    public var isTruncated: Bool
    /// Since the server made or confirmed it. Nil: unknown.
    public var age: Duration?
    /// Whether the response is stale: its server may have a newer one.
    public var isStale: Bool

    /// - Parameter result: as the command has it.
    /// - Throws: ``SluiceError`` `failed` where the stored body cannot be read.
    init(_ result: JSONValue) throws(SluiceError) {
        source = result["source"]?.string.flatMap { Source(rawValue: $0) } ?? .stored
        status = Int(result["status"]?.integer ?? 0)
        let fields = result["headers"]?.members ?? []
        headers = Dictionary(fields.map { ($0.name, $0.value.string ?? "") }) { first, _ in first }
        isTruncated = result["bodyTruncated"]?.bool ?? false
        age = result["age"]?.integer.map { .seconds($0) }
        isStale = result["stale"]?.bool ?? false
        do { body = try StoredFetch.body(of: result) } catch { throw SluiceError(.failed, "\(error)") }
    }
}

/// When ``SluiceClient/fetch(_:headers:mode:maxStale:options:)`` asks the network.
public enum FetchMode: String, Sendable, CaseIterable {
    /// Brings the stored response at once and asks, unless the stored one is fresh.
    case both
    /// Asks always, and takes only a response that the server has just confirmed.
    case reload
    /// Never asks.
    case stored
    /// Asks first; the stored response is the answer to an error that permits it.
    case network
}
