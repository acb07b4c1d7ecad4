import Commands
import Host
import TestSupport

/// The server of this program with its faults and script. Requests of the control socket run one after the
/// other.
actor Destination {
    private let server: ScriptedServer
    private var behaviour = Behaviour()
    /// The script; nil for that of ``behaviour``.
    private var script: String?

    init(_ options: ScriptedServer.Options) async throws {
        server = try await ScriptedServer(options)
        try server.run(behaviour.script)
    }

    /// Handles a request of the control socket.
    /// - Returns: the line of the answer.
    func answer(_ request: JSONValue) async throws -> [UInt8] {
        var json = JSONWriter(capacity: 1 << 16)
        json.beginObject()
        json.member("at", MonotonicTime.now.nanoseconds)
        if let change = request["change"] {
            try await apply(try behaviour.changed(by: change))
        } else if let text = request["script"]?.string {
            try server.run(text)
            script = text
        } else if request["script"] == .null {
            script = nil
            try server.run(behaviour.script)
        } else if request["forget"]?.bool == true {
            server.forgetEnded()
        } else {
            switch request["ask"]?.string {
            case "statistics": statistics(since: request["since"]?.integer ?? 0, to: &json)
            case "count": count(below: request["below"]?.string ?? "/", to: &json)
            case "files": json.member("files", files)
            default:
                throw Refusal("ask for “statistics”, “count” or “files”, change a behaviour, send a script, or forget")
            }
        }
        json.endObject()
        return json.bytes
    }

    private func apply(_ new: Behaviour) async throws {
        let old = behaviour
        behaviour = new
        if script == nil { try server.run(new.script) }
        server.setHashes(new.hashes)
        server.readConnections(at: new.connectionRate.map { $0 / 8 })
        server.setMute(new.isMute)
        if new.isRefusing != old.isRefusing { try await server.refuse(new.isRefusing) }
    }

    /// Writes the requests that run or ended after a time, with the bytes after it.
    private func statistics(since: Int64, to json: inout JSONWriter) {
        json.member("step", ReceivedRequest.step)
        json.member("active", server.active)
        json.name("requests")
        json.beginArray()
        for request in server.requests {
            let end = request.answeredAt ?? request.ended
            if let end, end.nanoseconds < since { continue }
            json.beginObject()
            json.member("method", request.method)
            json.member("path", request.target)
            json.member("clientPort", request.clientPort)
            json.member("expected", request.declared)
            json.member("begin", request.began.nanoseconds)
            if let end { json.member("end", end.nanoseconds) }
            if request.answeredAt != nil, let status = request.answered { json.member("status", status) }
            json.member("received", request.bytes)
            json.name("steps")
            json.beginArray()
            for step in request.steps where step.number >= since / ReceivedRequest.step {
                json.beginArray()
                json.value(step.number)
                json.value(step.bytes)
                json.endArray()
            }
            json.endArray()
            json.endObject()
        }
        json.endArray()
    }

    /// Counts the requests to paths with a prefix. Cheaper than ``statistics(since:to:)`` for 50,000
    /// requests.
    private func count(below prefix: String, to json: inout JSONWriter) {
        let prefix = Array(prefix.utf8)
        var (begun, succeeded, refused) = (0, 0, 0)
        var (first, last): (Int64?, Int64?)
        var lastBegin: Int64?
        for request in server.requests where request.target.utf8.starts(with: prefix) {
            begun += 1
            first = first ?? request.began.nanoseconds
            lastBegin = request.began.nanoseconds
            guard let end = request.answeredAt, let status = request.answered else { continue }
            if (200..<300).contains(status) { succeeded += 1 } else { refused += 1 }
            last = max(last ?? 0, end.nanoseconds)
        }
        json.member("begun", begun)
        json.member("succeeded", succeeded)
        json.member("refused", refused)
        if let first { json.member("firstBegin", first) }
        if let lastBegin { json.member("lastBegin", lastBegin) }
        if let last { json.member("lastEnd", last) }
    }

    private var files: JSONValue {
        .object(
            server.files.all.sorted { $0.key < $1.key }.map { path, file in
                var members: [JSONValue.Member] = [.init("kept", .integer(file.kept))]
                if let total = file.total { members.append(.init("total", .integer(total))) }
                if let sha256 = file.sha256 { members.append(.init("sha256", .string(sha256))) }
                return .init(path, .object(members))
            })
    }
}
