internal import Commands
internal import HTTPTypes
internal import Store
internal import Uploads

extension UploadsResource {
    /// The upload of the path, which the request may use: its own, or any with a scope.
    /// - Throws: a problem with 404 for the upload of another token, the same as for one that does not exist.
    func find(_ request: DoorRequest, or scope: Scope? = nil) async throws -> Upload {
        try await find(id(of: request), for: request.principal, or: scope)
    }

    func id(of request: DoorRequest) throws(Problem) -> CommandID {
        let text = request.parameters["id"] ?? ""
        guard let id = CommandID(text) else { throw UploadProblems.notFound(text) }
        return id
    }

    func find(_ id: CommandID, for principal: Principal?, or scope: Scope? = nil) async throws -> Upload {
        let upload: Upload
        do {
            upload = if let find = options.find { try await find(id) } else { try await service.upload(id) }
        } catch let error as UploadError where error.code == .notFound {
            throw UploadProblems.notFound("\(id)")
        }
        if scope.map({ principal?.scopes.contains($0) == true }) != true { try checkOwner(of: upload, principal) }
        return upload
    }

    private func checkOwner(of upload: Upload, _ principal: Principal?) throws(Problem) {
        guard principal.map({ $0.owns(upload) }) ?? (upload.facts.token == nil) else {
            throw UploadProblems.notFound("\(upload.id)")
        }
    }

    /// The check of a PATCH: it sends bytes to an upload of its token, whose route it may still use.
    /// - Parameter check: of its protocol.
    func appendCheck(
        _ request: DoorRequest, _ check: @escaping @Sendable (Upload) throws -> Void = { _ in }
    ) -> AppendCheck {
        AppendCheck { upload in
            try checkOwner(of: upload, request.principal)
            try checkRoute(of: upload, request)
            try check(upload)
        }
    }

    /// Whether a token of the name that the request's token has created the upload.
    func isOwn(_ upload: Upload, _ principal: Principal?) -> Bool { upload.facts.token == principal?.owner }

    /// The route of a new upload: that of the query, else the stated one.
    /// - Parameter isRequired: false for a part of others, which becomes nothing by itself.
    /// - Throws: 400 with the names of the routes that the token may use.
    func route(_ request: DoorRequest, stated: String?, isRequired: Bool = true) throws(Problem) -> String? {
        let names = Set(request.query.items.filter { $0.name == "route" }.map(\.value))
        guard names.count <= 1 else {
            throw Problem(.badRequest, "invalid-route", "The query names \(names.count) routes; send one of them.")
        }
        let query = names.first
        if let query, let stated, query != stated {
            throw Problem(
                .badRequest, "invalid-route",
                "The query names the route “\(query.excerpt)”, and the upload “\(stated.excerpt)”; send one of them.")
        }
        let permitted = request.principal?.routes.map { routes.intersection($0) } ?? routes
        let problem: String
        if let name = query ?? stated {
            guard !permitted.contains(name) else { return name }
            problem = "This token may not use a route “\(name.excerpt)”"
        } else {
            guard isRequired, request.principal?.routes != nil else { return nil }
            problem = "This token sends uploads to its routes only, and the request names none"
        }
        let known = permitted.sorted()
        let remedy = known.isEmpty ? "it has none" : "use ?route= with one of \(known.joined(separator: ", "))"
        throw Problem(
            .badRequest, "invalid-route", "\(problem); \(remedy).",
            members: [.init("routes", .array(known.map { .string($0) }))])
    }

    /// Checks that the token may still use the route of an upload: it may have lost it since the creation (time of check
    /// to time of use).
    func checkRoute(of upload: Upload, _ request: DoorRequest) throws(Problem) {
        guard let route = upload.facts.route, let permitted = request.principal?.routes, !permitted.contains(route)
        else { return }
        throw Problem(
            .forbidden, "route-forbidden", "This token may not use the route “\(route.excerpt)” of the upload any more."
        )
    }

    /// The properties that all protocols state in the same way.
    /// - Parameters:
    ///   - fileName: the name in the fields or the body; nil: that of the query, else the last part of the path.
    ///   - route: the checked route.
    /// - Throws: 400 for text that is too long or has control characters.
    func facts(
        _ origin: UploadProtocol, _ request: DoorRequest, fileName: String?, contentType: String?, route: String?
    ) throws(Problem) -> UploadFacts {
        var facts = UploadFacts(origin: origin)
        let names = [fileName, request.query["name"], request.parameters["id"]].compactMap(\.self)
        facts.fileName = names.first { !$0.isEmpty }
        facts.contentType = contentType
        facts.route = route
        facts.token = request.principal?.owner
        facts.tokenName = request.principal?.name
        facts.grant = request.principal?.grant
        if let name = facts.fileName { try ClientText.check(name, "The file name") }
        if let type = contentType { try ClientText.check(type, "The content type") }
        return facts
    }

    /// The file name in the fields of a request that has the bytes of one file as its body.
    func fileName(_ fields: HTTPFields) -> String? {
        fields[.contentDisposition].flatMap { FieldParameters($0.utf8) }.flatMap(DispositionFileName.read)
    }

    func key(_ request: DoorRequest) throws(Problem) -> IdempotencyKey? {
        try IdempotencyKeyField.read(request.fields, token: request.principal?.owner)
    }

    func location(_ request: DoorRequest) -> @Sendable (CommandID) -> String {
        { [base = request.baseURL] in "\(base)/uploads/\($0)" }
    }

    /// The URL of an upload whose creation has failed. A client with other bytes than those of its key must not go on by
    /// it.
    func location(of upload: Upload, after error: UploadError, _ request: DoorRequest) -> String? {
        error.code == .keyConflict ? nil : location(request)(upload.id)
    }

    func writer(_ dialect: ResumableDialect, _ request: DoorRequest) -> ResumableWriter {
        ResumableWriter(dialect: dialect, limits: service.limits, now: service.now, location: location(request))
    }

    /// Answers the request that completes an upload, with the digest that the client wants.
    func completed(_ upload: Upload, _ request: DoorRequest) async -> UploadReply {
        var reply = PlainWriter.completed(upload, location: location(request)(upload.id))
        reply.fields[.reprDigest] = await wantedDigest(of: upload, request)
        return reply
    }

    /// `Repr-Digest` of a complete upload, where this request wants it, or the one that created the upload has.
    func wantedDigest(of upload: Upload, _ request: DoorRequest) async -> String? {
        guard upload.state == .complete,
            let algorithm = DigestFields.wanted(request.fields) ?? upload.facts.wantedDigest
        else { return nil }
        var digest = upload.facts.digest
        if digest?.algorithm != algorithm { digest = await options.digest?(upload, algorithm) }
        return digest.flatMap(DigestFields.text)
    }

    /// Runs a request of a protocol, and turns the errors of the engine into its problems.
    func reporting(
        _ problem: (UploadError) -> Problem, _ run: () async throws -> UploadReply
    ) async throws -> UploadReply {
        do { return try await run() } catch let error as UploadError { throw problem(error) }
    }
}
