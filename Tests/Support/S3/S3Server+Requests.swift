internal import Crypto
internal import Foundation

extension S3Server {
    private static let minPart = 5 << 20

    /// Carries a request out.
    static func carryOut(
        _ request: HandledRequest, _ target: S3Target, _ kind: Kind, _ state: inout State
    ) -> Behaviour {
        let id = target.query["uploadId"] ?? ""
        switch kind {
        case .create: return create(request, target, &state)
        case .put: return put(request, target, &state)
        case .head: return head(state.objects[target.key])
        case .get: return get(request, state.objects[target.key])
        case .listUploads:
            let prefix = target.query["prefix"] ?? ""
            let uploads = state.uploads.filter { $0.value.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }
                .map { "<Upload><Key>\($0.value.key)</Key><UploadId>\($0.key)</UploadId></Upload>" }
            return xml("ListMultipartUploadsResult", uploads.joined())
        case .part, .complete, .abort, .listParts: break
        }
        guard var upload = state.uploads[id], upload.key == target.key else { return error(404, "NoSuchUpload") }
        switch kind {
        case .part:
            upload.parts[Int(target.query["partNumber"] ?? "") ?? 0] = request.body
            state.uploads[id] = upload
            return .answer(200, headers: ["ETag": "\"\(md5(request.body))\""])
        case .complete: return complete(request, id, upload, &state)
        case .abort:
            state.uploads[id] = nil
            return .answer(204)
        default: return listParts(upload, after: Int(target.query["part-number-marker"] ?? "") ?? 0)
        }
    }

    private static func create(_ request: HandledRequest, _ target: S3Target, _ state: inout State) -> Behaviour {
        state.created += 1
        let id = "upload-\(state.created)+/="
        state.uploads[id] = Upload(key: target.key, headers: stored(request))
        return xml("InitiateMultipartUploadResult", "<UploadId>\(id)</UploadId>")
    }

    private static func put(_ request: HandledRequest, _ target: S3Target, _ state: inout State) -> Behaviour {
        if request["if-none-match"] == "*", state.objects[target.key] != nil { return error(412, "PreconditionFailed") }
        state.objects[target.key] = Object(bytes: request.body, etag: md5(request.body), headers: stored(request))
        return .answer(200, headers: ["ETag": "\"\(md5(request.body))\""])
    }

    private static func head(_ object: Object?) -> Behaviour {
        guard let object else { return .answer(404) }
        var headers = object.headers
        headers["ETag"] = "\"\(object.etag)\""
        headers["Content-Length"] = "\(object.bytes.count)"
        return .answer(200, headers: headers)
    }

    /// Sends an object, or its rest where the range is of the version that If-Range names.
    private static func get(_ request: HandledRequest, _ object: Object?) -> Behaviour {
        guard let object else { return error(404, "NoSuchKey") }
        let etag = "\"\(object.etag)\""
        var (start, answer) = (0, ScriptAnswer(200))
        answer.headers = object.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + [("ETag", etag)]
        if let range = request["range"], let first = Int(range.dropFirst("bytes=".count).dropLast()),
            request["if-range"] ?? etag == etag
        {
            guard first < object.bytes.count else { return error(416, "InvalidRange") }
            (start, answer.status) = (first, 206)
            let (last, count) = (object.bytes.count - 1, object.bytes.count)
            answer.headers.append(("Content-Range", "bytes \(first)-\(last)/\(count)"))
        }
        answer.body = .text(Array(object.bytes[start...]))
        return Behaviour("object from \(start)", [.read(), .answer(answer)])
    }

    /// The answer without its end, and a reset.
    static func cut(_ behaviour: Behaviour, after count: Int) -> Behaviour {
        var steps = behaviour.steps
        guard case .answer(var answer)? = steps.popLast() else { return behaviour }
        answer.framing = .stated(answer.body.count)
        if case .text(let bytes) = answer.body { answer.body = .text(Array(bytes.prefix(count))) }
        return Behaviour("\(count) bytes of the object", steps + [.answer(answer), .close])
    }

    /// Makes the object of the parts that the list names, as S3 does.
    private static func complete(
        _ request: HandledRequest, _ id: String, _ upload: Upload, _ state: inout State
    ) -> Behaviour {
        if request["if-none-match"] == "*", state.objects[upload.key] != nil { return error(412, "PreconditionFailed") }
        let text = String(decoding: request.body, as: UTF8.self)
        var (bytes, sums): ([UInt8], [UInt8]) = ([], [])
        let parts = text.components(separatedBy: "<Part>").dropFirst()
        for (index, part) in parts.enumerated() {
            guard let number = Int(between(part, "<PartNumber>", "</PartNumber>")), let body = upload.parts[number],
                between(part, "<ETag>", "</ETag>").replacingOccurrences(of: "&quot;", with: "") == md5(body)
            else { return error(400, "InvalidPart") }
            guard index == parts.count - 1 || body.count >= minPart else { return error(400, "EntityTooSmall") }
            bytes += body
            sums += Array(Insecure.MD5.hash(data: body))
        }
        let etag = "\(md5(sums))-\(parts.count)"
        state.objects[upload.key] = Object(bytes: bytes, etag: etag, headers: upload.headers)
        state.uploads[id] = nil
        return xml("CompleteMultipartUploadResult", "<ETag>&quot;\(etag)&quot;</ETag>")
    }

    /// Two parts a page.
    private static func listParts(_ upload: Upload, after marker: Int) -> Behaviour {
        let rest = upload.parts.filter { $0.key > marker }.sorted { $0.key < $1.key }
        var body = rest.prefix(2).map { number, bytes in
            "<Part><PartNumber>\(number)</PartNumber><ETag>&quot;\(md5(bytes))&quot;</ETag>"
                + "<Size>\(bytes.count)</Size></Part>"
        }.joined()
        if rest.count > 2 {
            body += "<IsTruncated>true</IsTruncated><NextPartNumberMarker>\(rest[1].key)</NextPartNumberMarker>"
        }
        return xml("ListPartsResult", body)
    }

    private static func stored(_ request: HandledRequest) -> [String: String] {
        let kept = request.headers.filter { header in
            let name = header.name.lowercased()
            return name == "content-type" || name.hasPrefix("x-amz-meta-")
        }
        return Dictionary(kept.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
    }

    private static func xml(_ root: String, _ body: String) -> Behaviour {
        .answer(
            200, headers: ["Content-Type": "application/xml"],
            body: "<?xml version=\"1.0\" encoding=\"UTF-8\"?><\(root)>\(body)</\(root)>")
    }

    private static func between(_ text: String, _ start: String, _ end: String) -> String {
        guard let from = text.range(of: start)?.upperBound, let to = text.range(of: end)?.lowerBound, from <= to else {
            return ""
        }
        return String(text[from..<to])
    }
}
