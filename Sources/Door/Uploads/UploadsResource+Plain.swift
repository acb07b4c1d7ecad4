internal import Commands
internal import HTTPClient
internal import HTTPTypes
internal import Store
internal import Uploads

extension UploadsResource {
    /// Takes a body as one file, or a form.
    func createPlain(_ request: DoorRequest) async throws -> UploadReply {
        try await reporting(UploadProblems.problem) {
            try ContentCoding.check(request.fields)
            if UploadMediaType.read(request.fields) == UploadMediaType.form { return try await createForm(request) }
            guard request.fields[.contentRange] == nil else {
                throw Problem(
                    .badRequest, "partial-content",
                    "Content-Range sends a part of a file, and the door takes whole ones here; resume by tus.")
            }
            let size = try BodySize.read(request.fields)
            var facts = try facts(
                .plain, request, fileName: fileName(request.fields), contentType: request.fields[.contentType],
                route: try route(request, stated: nil))
            // The body is the whole representation: both digests are of the same bytes.
            let digests = [
                try DigestFields.read(.reprDigest, request.fields),
                try DigestFields.read(.contentDigest, request.fields),
            ].compactMap(\.self)
            guard digests.count < 2 || digests[0] == digests[1] else {
                throw Problem(
                    .badRequest, "invalid-digest",
                    "Repr-Digest and Content-Digest are both there, and are not the same digest; send one of them.")
            }
            facts.digest = digests.first
            let upload = try await takeWhole(facts, size: size, key: try key(request)) {
                try await Self.send(request.body, to: $0)
            }
            return await completed(upload, request)
        }
    }
}

extension UploadsResource {
    /// Takes each file of a form as an upload. The field `route` applies to the files after it, and `name` to the next one:
    /// several files with one name could replace each other at their destination.
    func createForm(_ request: DoorRequest) async throws -> UploadReply {
        let body = FormBody(request.body, boundary: try MultipartBoundary.read(request.fields), memory: request.memory)
        // A file is complete, and becomes its command, before the form ends.
        guard !request.fields.contains(.contentDigest), !request.fields.contains(.reprDigest) else {
            throw Problem(
                .badRequest, "invalid-digest",
                "The digest of a form cannot be checked before its files are used; send the file alone, by PUT or POST."
            )
        }
        var uploads: [Upload] = []
        do {
            var stated = (route: String?.none, name: String?.none)
            // A field of that name, and no file after it.
            var unused: String?
            while let head = try await body.nextPart() {
                if head.fileName != nil {
                    // Browsers send a part without a name and bytes where no file was chosen.
                    if try await body.isEmptyPart(), head.fileName == "" { continue }
                    uploads.append(try await take(head, body, request, stated, number: uploads.count + 1))
                    (stated.name, unused) = (nil, nil)
                    continue
                }
                let text = try await body.text(of: head.name)
                switch head.name {
                // The choice of no route in a form is an empty text.
                case "route": (stated.route, unused) = (text.isEmpty ? nil : text, text.isEmpty ? unused : "route")
                case "name": (stated.name, unused) = (text.isEmpty ? nil : text, text.isEmpty ? unused : "name")
                default: break
                }
            }
            if let unused, !uploads.isEmpty {
                throw Problem(
                    .badRequest, "invalid-form",
                    "The field “\(unused)” stands after the files, which were taken without it; send it before them.")
            }
        } catch let error as UploadError {
            throw adding(uploads, to: UploadProblems.problem(error))
        } catch let problem as Problem {
            throw adding(uploads, to: problem)
        }
        guard let first = uploads.first else {
            throw Problem(.badRequest, "invalid-form", "The form has no file; send a part with a file name.")
        }
        if Self.isFromPage(request) {
            return UploadReply(status: .seeOther, fields: [.location: "\(request.baseURL)/uploads"])
        }
        return uploads.count == 1 ? await completed(first, request) : PlainWriter.completed(uploads)
    }

    /// Whether a browser has sent the form by itself: it shows the response as its next page.
    private static func isFromPage(_ request: DoorRequest) -> Bool {
        request.fields[.accept]?.split(separator: ",").contains { $0.trimmed.hasPrefix("text/html") } ?? false
    }

    private func take(
        _ head: MultipartHead, _ body: FormBody, _ request: DoorRequest, _ stated: (route: String?, name: String?),
        number: Int
    ) async throws -> Upload {
        let fileName = stated.name ?? (head.fileName == "" ? nil : head.fileName)
        let facts = try facts(
            .form, request, fileName: fileName, contentType: head.contentType,
            route: try route(request, stated: stated.route))
        return try await takeWhole(facts, size: nil, key: try key(request, file: number)) {
            try await body.send(to: $0)
        }
    }

    /// Each file of a form has a key of its own, so that the same form again returns the same uploads.
    private func key(_ request: DoorRequest, file number: Int) throws(Problem) -> IdempotencyKey? {
        guard var key = try self.key(request) else { return nil }
        guard number > 1 else { return key }
        key.value += "#\(number)"
        guard key.value.utf8.count <= 255 else {
            throw Problem(
                .badRequest, "invalid-field", "Idempotency-Key is too long for a form with several files; send a UUID.")
        }
        return key
    }

    /// The files before a failed one are complete, and have become commands.
    private func adding(_ uploads: [Upload], to problem: Problem) -> Problem {
        guard !uploads.isEmpty else { return problem }
        var problem = problem
        problem.members.append(.init("uploads", .array(uploads.map(PlainWriter.summary))))
        return problem
    }
}
