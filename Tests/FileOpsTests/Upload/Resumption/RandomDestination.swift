import Foundation
import HTTPClient
import Synchronization
import TestSupport

/// A destination that answers at random and records the bytes that it has received. It never answers 2xx for
/// bytes that it does not hold.
final class RandomDestination: Sendable {
    enum Reply: Sendable {
        case answer(Int, headers: [(name: String, value: String)], body: [UInt8])
        /// The connection ends without an answer.
        case cut
    }

    struct Request: Sendable {
        var method: String
        var path: String
        var headers: [String: String]
        var body: [UInt8]
    }

    /// The behaviour for one command, drawn at random.
    struct Character: Sendable {
        /// The probability that a request is answered wrongly, interrupted or refused.
        var trouble = 0.3
        /// The maximum bytes of a body that a proxy accepts.
        var bodyLimit = Int.max
        /// Uploads are removed once they are complete.
        var processes = false
        /// Requests without the cookie of the creation reach a replica without the upload.
        var isSticky = false
        /// `Content-Range` is answered like a session.
        var isSession = false
        /// Uploads may be read.
        var isReadable = true
    }

    fileprivate struct Ledger {
        var random: SeededRandom
        var character = Character()
        /// The stored bytes, by path.
        var held: [String: [UInt8]] = [:]
        var totals: [String: Int] = [:]
        var next = 0
        var exchanges = 0
        /// The bytes of completed uploads.
        var completed: [[UInt8]] = []
        var faults: [String] = []
    }

    private let ledger: Mutex<Ledger>

    init(_ random: SeededRandom) { ledger = Mutex(Ledger(random: random)) }

    var exchanges: Int { ledger.withLock { $0.exchanges } }
    /// Violations of a protocol by the client.
    var faults: [String] { ledger.withLock { $0.faults } }
    /// The bytes of all uploads that were completed since ``begin(_:)``, processed or not.
    var completed: [[UInt8]] { ledger.withLock { $0.completed } }

    func held(_ path: String) -> [UInt8]? { ledger.withLock { $0.held[path] } }

    /// Removes all uploads and changes the behaviour.
    func begin(_ character: Character) {
        ledger.withLock {
            $0.character = character
            ($0.held, $0.totals, $0.completed) = ([:], [:], [])
        }
    }

    func handle(_ request: Request) -> Reply {
        ledger.withLock { ledger in
            ledger.exchanges += 1
            return ledger.handle(request)
        }
    }
}

extension RandomDestination.Ledger {
    private typealias Reply = RandomDestination.Reply

    fileprivate static let refusals = [
        400, 401, 403, 404, 405, 408, 409, 410, 411, 412, 413, 416, 418, 421, 423, 425, 429, 500, 501, 502, 503, 504,
        507, 301,
        308, 511,
    ]

    fileprivate mutating func handle(_ request: RandomDestination.Request) -> RandomDestination.Reply {
        if request.body.count > character.bodyLimit { return answer(413) }
        // A failure before the request has an effect.
        if random.chance(character.trouble / 3) {
            // A refusal to return the bytes would be trusted: see ``ContentRangeLength``.
            let refusals = request.method == "GET" ? [408, 416, 425, 429, 500, 502, 503, 504] : Self.refusals
            return random.chance(0.4) ? .cut : answer(refusals.randomElement(using: &random) ?? 500)
        }
        let reply = request.path.hasPrefix("/tus") ? tus(request) : target(request)
        guard case .answer(let status, _, _) = reply, status < 300, request.method != "HEAD",
            random.chance(character.trouble / 3)
        else {
            return reply
        }
        // A failure after the request has had its effect.
        return random.chance(0.5) ? .cut : answer([500, 502, 503, 504, 507].randomElement(using: &random) ?? 500)
    }

    private func answer(
        _ status: Int, _ headers: [(name: String, value: String)] = [], _ body: [UInt8] = []
    ) -> RandomDestination.Reply { .answer(status, headers: headers, body: body) }

    /// The received part of a body. The connection may end in the middle.
    private mutating func receive(_ body: [UInt8]) -> (bytes: ArraySlice<UInt8>, isCut: Bool) {
        guard !body.isEmpty, random.chance(character.trouble / 3) else { return (body[...], false) }
        return (body.prefix(random.number(in: 0..<body.count)), true)
    }

    // MARK: tus

    private mutating func tus(_ request: RandomDestination.Request) -> RandomDestination.Reply {
        let version = (name: "Tus-Resumable", value: random.chance(0.5) ? " 1.0.0 " : "1.0.0")
        if request.headers["tus-resumable"] != "1.0.0", request.method != "OPTIONS" {
            faults.append("\(request.method) without Tus-Resumable")
        }
        let cookie = request.headers["cookie"]
        switch request.method {
        case "OPTIONS":
            return answer(
                204, [("tus-version", "0.2.2 , 1.0.0"), ("TUS-EXTENSION", "termination , creation "), version])
        case "POST":
            if cookie != nil { faults.append("a cookie goes with a creation") }
            guard let total = request.headers["upload-length"].flatMap({ Int($0) }) else { return answer(400) }
            next += 1
            let path = "/tus/\(next)"
            held[path] = []
            totals[path] = total
            if total == 0 { completed.append([]) }
            let location = random.chance(0.5) ? path : "./\(next)"
            return answer(201, [("Location", location), ("Set-Cookie", "upload=\(path); Path=/tus"), version])
        default: break
        }
        guard let total = totals[request.path], var bytes = held[request.path] else { return answer(404, [version]) }
        if character.isSticky, cookie != "upload=\(request.path)" { return answer(404, [version]) }
        if cookie != "upload=\(request.path)" { faults.append("another upload's cookie: \(cookie ?? "none")") }
        if random.chance(character.trouble / 10), bytes.count < total {
            // The upload is lost, or has lost its end.
            guard random.chance(0.7) else {
                held[request.path] = nil
                totals[request.path] = nil
                return answer(404, [version])
            }
            bytes = Array(bytes.prefix(random.number(in: 0..<bytes.count + 1)))
            held[request.path] = bytes
        }
        if request.method == "HEAD" {
            let nonsense = ["", "x", "-1", "99999999999999999999", "\(total + 5)"]
            let offset =
                random.chance(character.trouble / 10) ? nonsense.randomElement(using: &random) ?? "" : "\(bytes.count)"
            return answer(200, [("Upload-Offset", offset), ("Upload-Length", "\(total)"), version])
        }
        guard request.headers["upload-offset"] == "\(bytes.count)" else { return answer(409, [version]) }
        let (part, isCut) = receive(request.body)
        bytes += part
        guard bytes.count <= total else {
            faults.append("\(bytes.count) of \(total) bytes were sent")
            return answer(400)
        }
        held[request.path] = bytes
        if bytes.count == total, !request.body.isEmpty {
            completed.append(bytes)
            if character.processes {
                held[request.path] = nil
                totals[request.path] = nil
            }
        }
        return isCut && random.chance(0.6) ? .cut : answer(204, [("upload-offset", "\(bytes.count)"), version])
    }

    // MARK: PUT

    private mutating func target(_ request: RandomDestination.Request) -> RandomDestination.Reply {
        let path = request.path
        switch request.method {
        case "OPTIONS": return answer(204)
        case "HEAD":
            if character.isSession { return answer(405) }
            // Another upload has stored a shorter file.
            if let bytes = held[path], character.isReadable, bytes.count > 1, random.chance(character.trouble / 10) {
                held[path] = random.bytes(random.number(in: 0..<bytes.count))
            }
            guard let bytes = held[path] else { return answer(404) }
            return answer(200, [("Content-Length", "\(bytes.count)")])
        case "GET":
            guard character.isReadable else { return answer(405) }
            guard let bytes = held[path] else { return answer(404) }
            let range = (request.headers["range"] ?? "").dropFirst(6).split(separator: "-").compactMap { Int($0) }
            guard range.count == 2, range[0] <= range[1], range[1] < bytes.count else { return answer(416) }
            return answer(206, [], Array(bytes[range[0]...range[1]]))
        case "PUT", "POST": break
        default: return answer(405)
        }
        guard let range = request.headers["content-range"] else {
            let (part, isCut) = receive(request.body)
            if isCut {
                // Some servers keep the received part.
                if random.chance(0.5) { held[path] = Array(part) }
                return .cut
            }
            held[path] = request.body
            if !request.body.isEmpty { completed.append(request.body) }
            return answer(201)
        }
        if range.hasPrefix("bytes */") {
            guard character.isSession else { return answer(400) }
            return session(path, Int(range.dropFirst(8)) ?? 0)
        }
        let numbers = range.dropFirst(6).split { $0 == "-" || $0 == "/" }.compactMap { Int($0) }
        guard numbers.count == 3, numbers[1] - numbers[0] + 1 == request.body.count else {
            faults.append("\(range) with \(request.body.count) bytes")
            return answer(400)
        }
        var bytes = held[path] ?? []
        guard numbers[0] <= bytes.count, !character.isSession || numbers[0] == bytes.count else { return answer(416) }
        let (part, isCut) = receive(request.body)
        let tail = bytes.dropFirst(numbers[0] + part.count)
        bytes = Array(bytes.prefix(numbers[0]) + part + tail)
        held[path] = bytes
        if bytes.count == numbers[2], !isCut { completed.append(bytes) }
        guard character.isSession else { return isCut ? .cut : answer(204) }
        return isCut && random.chance(0.6) ? .cut : session(path, numbers[2])
    }

    private func session(_ path: String, _ total: Int) -> RandomDestination.Reply {
        let count = held[path]?.count ?? 0
        if count == total, total > 0 { return answer(200) }
        return answer(308, count == 0 ? [] : [("Range", "bytes=0-\(count - 1)")])
    }
}
