internal import Commands
internal import Crypto
internal import Foundation
internal import Synchronization

/// A store that speaks the part of S3 that an upload needs, behind a ``ScriptedServer``. It refuses wrong
/// signatures, digests and clocks, and keeps objects and multipart uploads in memory.
package final class S3Server: RequestHandler {
    package static let accessKey = "AKIDEXAMPLE"
    package static let secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    package static let bucket = "media"

    /// A request by its meaning.
    package enum Kind: String, Sendable, CaseIterable {
        case create, part, complete, abort, listParts, listUploads, head, put, get
    }

    package struct Object: Sendable {
        package var bytes: [UInt8]
        package var etag: String
        /// The headers that are stored: `content-type` and `x-amz-…`.
        package var headers: [String: String]
    }

    package struct Upload: Sendable {
        package var key: String
        package var headers: [String: String]
        package var parts: [Int: [UInt8]] = [:]
    }

    /// A deviation of the next request of a kind.
    package enum Fault: Sendable {
        /// Answers this status and code instead.
        case refuse(Int, String, header: String? = nil)
        /// Answers these bytes of a 200 instead.
        case answer(String)
        /// Answers only after the request was carried out, or instead, and then with a reset. All requests after
        /// it are reset too until ``revive()``, as if the client had died.
        case die(afterwards: Bool)
        /// Carries the request out, and resets this connection.
        case reset
        /// Forgets the upload before the request.
        case forget
        /// Changes a byte of the body before it is compared with its digest.
        case damage
        /// Neither answers nor carries out.
        case hang
        /// Sends this number of bytes of an object, and resets the connection.
        case cut(Int)
        /// Carries the request out, and loses the last byte of the object.
        case lose
    }

    struct State {
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        var log: [Kind] = []
        var faults: [(kind: Kind, fault: Fault)] = []
        /// The request after which the client dies, from 1, and whether it is carried out; nil for none.
        var death: (request: Int, afterwards: Bool)?
        var isClientDead = false
        var skew: Double = 0
        var token: String?
        var created = 0
    }

    let state = Mutex(State())

    package init() {}

    // MARK: The test

    package var objects: [String: Object] { state.withLock { $0.objects } }
    package var uploads: [String: Upload] { state.withLock { $0.uploads } }
    /// The requests so far.
    package var log: [Kind] { state.withLock { $0.log } }

    /// Adds an upload, as one that was aborted and of which a part was finished later.
    package func add(_ upload: Upload, _ id: String) { state.withLock { $0.uploads[id] = upload } }

    package func forgetLog() { state.withLock { $0.log = [] } }

    /// Adds deviations; each applies to one request of its kind.
    package func fail(_ kind: Kind, _ faults: Fault...) {
        state.withLock { $0.faults += faults.map { (kind, $0) } }
    }

    /// The client dies with the request of this number, from 1 on.
    package func die(at request: Int, afterwards: Bool) {
        state.withLock { $0.death = (request, afterwards) }
    }

    /// Whether the client has died.
    package var isClientDead: Bool { state.withLock { $0.isClientDead } }

    package func revive() {
        state.withLock {
            $0.isClientDead = false
            $0.death = nil
        }
    }

    /// Loses a part of every upload.
    package func lose(part number: Int) {
        state.withLock { for id in $0.uploads.keys { $0.uploads[id]?.parts[number] = nil } }
    }

    /// Sets the clock of the endpoint, in seconds ahead of this host's.
    package func setClock(ahead seconds: Double) { state.withLock { $0.skew = seconds } }

    /// Demands this session token.
    package func setToken(_ token: String?) { state.withLock { $0.token = token } }

    /// - Parameter headers: sent with the object.
    package func store(_ key: String, _ bytes: [UInt8], headers: [String: String] = [:]) {
        state.withLock { $0.objects[key] = Object(bytes: bytes, etag: Self.md5(bytes), headers: headers) }
    }

    // MARK: Requests

    package func respond(to request: HandledRequest) -> Behaviour {
        let target = S3Target(request.target)
        guard let kind = Self.kind(request.method, target) else { return Self.error(405, "MethodNotAllowed") }
        return state.withLock { state in
            guard !state.isClientDead else { return Behaviour("dead", [.reset]) }
            state.log.append(kind)
            let fault = Self.fault(of: kind, &state)
            if case .die(let afterwards) = fault {
                state.isClientDead = true
                if afterwards { _ = Self.carryOut(request, target, kind, &state) }
                return Behaviour("dead", [.reset])
            }
            if let answer = Self.deviation(fault) { return answer }
            var request = request
            if case .damage = fault, !request.body.isEmpty { request.body[0] ^= 1 }
            if case .forget = fault { state.uploads[target.query["uploadId"] ?? ""] = nil }
            if let refusal = Self.refusal(of: request, target, state) { return refusal }
            let answer = Self.carryOut(request, target, kind, &state)
            if case .lose = fault { state.objects[target.key]?.bytes.removeLast() }
            if case .reset = fault { return Behaviour("reset", [.reset]) }
            if case .cut(let count) = fault, kind == .get { return Self.cut(answer, after: count) }
            return answer
        }
    }

    private static func fault(of kind: Kind, _ state: inout State) -> Fault? {
        if let death = state.death, death.request == state.log.count { return .die(afterwards: death.afterwards) }
        guard let index = state.faults.firstIndex(where: { $0.kind == kind }) else { return nil }
        return state.faults.remove(at: index).fault
    }

    private static func deviation(_ fault: Fault?) -> Behaviour? {
        switch fault {
        case .refuse(let status, let code, let header)?: error(status, code, header: header)
        case .answer(let body)?: Behaviour.answer(200, body: body)
        case .hang?: Behaviour("hang", [.hang])
        case .die?, .reset?, .forget?, .damage?, .cut?, .lose?, nil: nil
        }
    }

    private static func kind(_ method: String, _ target: S3Target) -> Kind? {
        switch method {
        case "POST": target.query["uploads"] != nil ? .create : .complete
        case "PUT": target.query["partNumber"] != nil ? .part : .put
        case "DELETE": .abort
        case "HEAD": .head
        case "GET" where target.query["uploads"] != nil: .listUploads
        case "GET": target.query["uploadId"] != nil ? .listParts : .get
        default: nil
        }
    }

    static func error(_ status: Int, _ code: String, header: String? = nil) -> Behaviour {
        let fields = header.map { $0.split(separator: ":", maxSplits: 1).map(String.init) } ?? []
        let headers = fields.count == 2 ? [fields[0]: fields[1]] : [:]
        return .answer(
            status, headers: headers,
            body: "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>refused</Message></Error>")
    }

    static func md5(_ bytes: [UInt8]) -> String { Hexadecimal.text(Insecure.MD5.hash(data: bytes)) }
}
