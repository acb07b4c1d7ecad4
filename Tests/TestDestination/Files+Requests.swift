import NIOHTTP1

extension Files {
    /// Where a request's body goes, and what it is answered with once the body is there.
    func decide(_ head: HTTPRequestHead, hashes: Bool) -> (file: File?, response: Response) {
        let path = String(head.uri.prefix { $0 != "?" })
        if path == "/tus" || path.hasPrefix("/tus/") { return decideTus(path, head, hashes: hashes) }
        switch head.method {
        case .PUT, .POST: return put(path, head, hashes: hashes)
        case .HEAD:
            guard let file = self[path] else { return (nil, Response(.notFound)) }
            return (nil, Response(.ok, ["content-length": "\(file.kept)"]))
        case .OPTIONS: return (nil, Response(.noContent, ["allow": "OPTIONS, HEAD, PUT, POST"]))
        default: return (nil, Response(.methodNotAllowed))
        }
    }

    private func put(_ path: String, _ head: HTTPRequestHead, hashes: Bool) -> (file: File?, response: Response) {
        var offset: Int64 = 0
        if let text = head.headers.first(name: "content-range") {
            // bytes FIRST-LAST/TOTAL
            guard text.hasPrefix("bytes "), let first = Int64(text.dropFirst(6).prefix { $0 != "-" }) else {
                return (nil, Response(.badRequest, closes: true))
            }
            offset = first
        }
        let file = make(path)
        guard offset <= file.kept else { return (nil, Response(.rangeNotSatisfiable, closes: true)) }
        file.seek(offset, hashes: hashes)
        return (file, Response(.created))
    }

    private func decideTus(_ path: String, _ head: HTTPRequestHead, hashes: Bool) -> (file: File?, response: Response) {
        let version = ["tus-resumable": "1.0.0"]
        func respond(_ status: HTTPResponseStatus, _ headers: [String: String] = [:], closes: Bool = false) -> Response
        {
            Response(status, version.merging(headers) { $1 }, closes: closes)
        }
        if head.method == .OPTIONS {
            return (nil, respond(.noContent, ["tus-version": "1.0.0", "tus-extension": "creation"]))
        }
        guard head.headers.first(name: "tus-resumable") == "1.0.0" else {
            return (nil, respond(.preconditionFailed, ["tus-version": "1.0.0"], closes: true))
        }
        if head.method == .POST {
            guard let total = head.headers.first(name: "upload-length").flatMap({ Int64($0) }) else {
                return (nil, respond(.badRequest, closes: true))
            }
            return (nil, respond(.created, ["location": create(below: path, total: total)]))
        }
        guard let file = self[path], let total = file.total else { return (nil, respond(.notFound, closes: true)) }
        switch head.method {
        case .HEAD:
            // The offset that is told must not grow behind the asker's back.
            if let writer = file.writer { Place.reset(writer) }
            return (
                nil,
                respond(
                    .ok, ["upload-offset": "\(file.kept)", "upload-length": "\(total)", "cache-control": "no-store"])
            )
        case .PATCH:
            guard head.headers.first(name: "content-type") == "application/offset+octet-stream" else {
                return (nil, respond(.unsupportedMediaType, closes: true))
            }
            guard let offset = head.headers.first(name: "upload-offset").flatMap({ Int64($0) }), offset == file.kept,
                let length = head.headers.first(name: "content-length").flatMap({ Int64($0) })
            else { return (nil, respond(.conflict, closes: true)) }
            guard offset + length <= total else { return (nil, respond(.payloadTooLarge, closes: true)) }
            file.seek(offset, hashes: hashes)
            return (file, respond(.noContent, ["upload-offset": "\(offset + length)"]))
        default: return (nil, respond(.methodNotAllowed, closes: true))
        }
    }
}
