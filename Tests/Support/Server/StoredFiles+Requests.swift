extension StoredFiles {
    /// The answer of the step `store`.
    struct Response {
        var answer: ScriptAnswer
        /// Answers without waiting for the body, and closes the connection.
        var closes: Bool

        init(_ status: Int, _ headers: [(name: String, value: String)] = [], closes: Bool = false) {
            answer = ScriptAnswer(status)
            answer.headers = headers + (closes ? [("connection", "close")] : [])
            self.closes = closes
        }
    }

    /// The target of the body, the answer after it, and the connection that must not write any more.
    typealias Decision = (path: String?, response: Response, stopped: Int?)

    /// Decides the handling of a request of a connection.
    mutating func decide(_ head: RequestHead, for connection: Int, hashes: Bool) -> Decision {
        let path = head.path
        var decision: Decision
        if path == "/tus" || path.hasPrefix("/tus/") {
            decision = decideTus(path, head, hashes: hashes)
        } else {
            switch head.method {
            case "PUT", "POST": decision = put(path, head, hashes: hashes)
            case "HEAD":
                let length = self[path].map { [(name: "content-length", value: "\($0.kept)")] }
                decision = (nil, length.map { Response(200, $0) } ?? Response(404), nil)
            case "OPTIONS": decision = (nil, Response(204, [("allow", "OPTIONS, HEAD, PUT, POST")]), nil)
            default: decision = (nil, Response(405), nil)
            }
        }
        if let path = decision.path {
            decision.stopped = self[path]?.writer
            self[path]?.writer = connection
        }
        return decision
    }

    private mutating func put(_ path: String, _ head: RequestHead, hashes: Bool) -> Decision {
        var offset: Int64 = 0
        if let text = head["content-range"] {
            // The format is “bytes FIRST-LAST/TOTAL”.
            guard text.hasPrefix("bytes "), let first = Int64(text.dropFirst(6).prefix { $0 != "-" }), first >= 0 else {
                return (nil, Response(400, closes: true), nil)
            }
            offset = first
        }
        var file = self[path] ?? File()
        guard offset <= file.kept else { return (nil, Response(416, closes: true), nil) }
        file.seek(offset, hashes: hashes)
        self[path] = file
        return (path, Response(201), nil)
    }

    private mutating func decideTus(_ path: String, _ head: RequestHead, hashes: Bool) -> Decision {
        func respond(
            _ status: Int, _ headers: [(name: String, value: String)] = [], closes: Bool = false
        ) -> Decision {
            (nil, Response(status, [("tus-resumable", "1.0.0")] + headers, closes: closes), nil)
        }
        if head.method == "OPTIONS" { return respond(204, [("tus-version", "1.0.0"), ("tus-extension", "creation")]) }
        guard head["tus-resumable"] == "1.0.0" else { return respond(412, [("tus-version", "1.0.0")], closes: true) }
        if head.method == "POST" {
            guard let total = head["upload-length"].flatMap({ Int64($0) }), total >= 0 else {
                return respond(400, closes: true)
            }
            return respond(201, [("location", create(below: path, total: total))])
        }
        guard var file = self[path], let total = file.total else { return respond(404, closes: true) }
        switch head.method {
        case "HEAD":
            // The file must not grow after its offset was reported.
            var decision = respond(
                200,
                [("upload-offset", "\(file.kept)"), ("upload-length", "\(total)"), ("cache-control", "no-store")])
            decision.stopped = file.writer
            self[path]?.writer = nil
            return decision
        case "PATCH":
            guard head["content-type"] == "application/offset+octet-stream" else { return respond(415, closes: true) }
            let length = Int64(head.declared)
            guard let offset = head["upload-offset"].flatMap({ Int64($0) }), offset == file.kept,
                head["content-length"] != nil
            else { return respond(409, closes: true) }
            guard length <= total - offset else { return respond(413, closes: true) }
            file.seek(offset, hashes: hashes)
            self[path] = file
            var decision = respond(204, [("upload-offset", "\(offset + length)")])
            decision.path = path
            return decision
        default: return respond(405, closes: true)
        }
    }
}
