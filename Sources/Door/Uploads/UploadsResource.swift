package import Commands
internal import HTTPTypes
internal import RawStructuredFieldValues
internal import Store
package import Uploads

/// The paths `/uploads` and `/uploads/{id}` for all upload protocols.
package struct UploadsResource: Sendable {
    let service: any UploadService
    /// The names of the routes.
    let routes: Set<String>
    let options: UploadsOptions

    package init(_ service: any UploadService, routes: Set<String>, options: UploadsOptions = UploadsOptions()) {
        self.service = service
        self.routes = routes
        self.options = options
    }

    package var endpoints: [Endpoint] {
        [
            endpoint("/uploads", [.post: method([.upload], create), .put: method([.upload], create)]),
            endpoint(
                "/uploads/{id}",
                [
                    .head: method([.upload, .read], status), .get: method([.upload, .read], show),
                    .patch: method([.upload], append), .delete: method([.upload, .control], terminate),
                    .put: method([.upload], createNamed),
                ]),
        ]
    }

    private func endpoint(_ path: String, _ methods: [HTTPRequest.Method: Endpoint.Method]) -> Endpoint {
        var endpoint = Endpoint(path, methods: methods, options: describe, allowsOtherOrigins: true)
        endpoint.allowsMethodOverride = true
        endpoint.decorate = { request, response in
            if UploadDialect.of(request.fields) == .tus {
                TusWriter.decorate(&response, isHead: request.method == .head)
            }
        }
        return endpoint
    }

    private func method(
        _ scopes: Set<Scope>, _ reply: @escaping @Sendable (DoorRequest) async throws -> UploadReply
    ) -> Endpoint.Method {
        Endpoint.Method(scopes: scopes) { try await reply($0).response }
    }

    /// OPTIONS answers for all protocols at once: some browsers take only 200 as the answer to a preflight.
    @Sendable private func describe(_ request: DoorRequest) -> Response {
        var fields = TusWriter.options(service.limits)
        fields.append(contentsOf: ResumableWriter.options(service.limits))
        fields[.acceptPatch] = "\(UploadMediaType.tus), \(UploadMediaType.partialUpload)"
        fields[.allow] =
            request.parameters["id"] == nil ? "OPTIONS, POST, PUT" : "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"
        return UploadReply(status: .ok, fields: fields).response
    }

    @Sendable private func create(_ request: DoorRequest) async throws -> UploadReply {
        switch UploadDialect.of(request.fields) {
        case .tus:
            guard request.method == .post else { throw TusWriter.problem(methodOfTus) }
            return try await createTus(request)
        case .resumable(let dialect): return try await createResumable(request, dialect)
        case .unknownVersion(let version):
            try refusePart(request.fields, version)
            return try await createPlain(request)
        case .plain, .form: return try await createPlain(request)
        }
    }

    /// Creates an upload with the file name in the path, as `curl -T FILE https://host/uploads/` requests it.
    @Sendable private func createNamed(_ request: DoorRequest) async throws -> UploadReply {
        guard let id = request.parameters["id"].flatMap({ CommandID($0) }) else { return try await create(request) }
        throw Problem(
            .methodNotAllowed, "method-not-allowed",
            "PUT makes a new upload, and does not replace \(id); send the file to another name, or resume by PATCH.",
            fields: [.allow: "DELETE, GET, HEAD, OPTIONS, PATCH"])
    }

    @Sendable private func append(_ request: DoorRequest) async throws -> UploadReply {
        switch UploadDialect.of(request.fields) {
        case .tus: return try await appendTus(request)
        case .resumable(let dialect): return try await appendResumable(request, dialect)
        case .unknownVersion(let version): throw Self.unknownVersion(version)
        case .plain, .form:
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type",
                "A PATCH sends bytes of tus (\(UploadMediaType.tus)) or of a resumable upload (\(UploadMediaType.partialUpload)).",
                fields: [.acceptPatch: "\(UploadMediaType.tus), \(UploadMediaType.partialUpload)"])
        }
    }

    @Sendable private func status(_ request: DoorRequest) async throws -> UploadReply {
        switch UploadDialect.of(request.fields) {
        case .tus: return try await statusOfTus(request)
        case .resumable(let dialect): return try await statusOfResumable(request, dialect)
        case .unknownVersion, .plain, .form: return try await statusForAll(request)
        }
    }

    /// The draft of the IETF wants the fields of HEAD here, and leaves the body open.
    @Sendable private func show(_ request: DoorRequest) async throws -> UploadReply {
        try await reporting(UploadProblems.problem) {
            let upload = try await find(request, or: .read)
            let fields = writer(ResumableDialect(nil), request).fields(upload)
            return UploadReply(status: .ok, fields: fields, body: upload.json)
        }
    }

    @Sendable private func terminate(_ request: DoorRequest) async throws -> UploadReply {
        if UploadDialect.of(request.fields) == .tus { return try await terminateTus(request) }
        return try await reporting(UploadProblems.problem) {
            let upload = try await find(request, or: .control)
            try await service.terminate(upload.id)
            return UploadReply(status: .noContent)
        }
    }

    /// Whole uploads of a version that the door does not speak are plain ones. A part would become a whole file.
    private func refusePart(_ fields: HTTPFields, _ version: Int64) throws(Problem) {
        let isPart =
            StructuredFields.boolean(.uploadComplete, fields) == false
            || StructuredFields.boolean(.uploadIncomplete, fields) == true
            || UploadMediaType.read(fields) == UploadMediaType.partialUpload
        if isPart { throw Self.unknownVersion(version) }
    }

    private static func unknownVersion(_ version: Int64) -> Problem {
        Problem(
            .badRequest, "unsupported-interop-version",
            "Upload-Draft-Interop-Version is \(version); send a part of an upload with one of \(InteropVersion.list).")
    }

    private var methodOfTus: Problem {
        Problem(
            .methodNotAllowed, "method-not-allowed", "tus creates an upload by POST, not by PUT.",
            fields: [.allow: "OPTIONS, POST"])
    }
}

/// Choices of the upload endpoints, and services that they use where they are there.
package struct UploadsOptions: Sendable {
    /// Whether 104 is sent to clients that name an interop version. Turn it off behind nginx: 1.22 answers nothing
    /// after it (measured).
    package var sendsInterimResponses = true
    /// Looks an upload up without stopping the request that sends bytes to it. Without it every look stops one. It
    /// throws the errors of the upload engine.
    package var find: (@Sendable (CommandID) async throws -> Upload)?
    /// Computes a digest of a complete upload, for `Want-Repr-Digest`; nil where it cannot.
    package var digest: (@Sendable (Upload, UploadDigest.Algorithm) async -> UploadDigest?)?

    package init() {}
}

/// The upload protocol of a request. All have the same paths.
enum UploadDialect: Equatable {
    case tus
    case resumable(ResumableDialect)
    /// The draft of the IETF in a version that the door does not speak.
    case unknownVersion(Int64)
    /// No field names a protocol.
    case plain
    case form

    /// Fields come before media types: tus-js-client sends the media type of tus with the versions of the draft too.
    static func of(_ fields: HTTPFields) -> UploadDialect {
        if fields.contains(.tusResumable) { return .tus }
        let mediaType = UploadMediaType.read(fields)
        if let dialect = resumable(fields, mediaType) { return dialect }
        return switch mediaType {
        case UploadMediaType.tus: .tus
        case UploadMediaType.form: .form
        default: .plain
        }
    }

    private static func resumable(_ fields: HTTPFields, _ mediaType: String?) -> UploadDialect? {
        if case .integer(let number) = StructuredFields.item(.uploadDraftInteropVersion, fields) {
            let version = InteropVersion.allCases.first { $0.rawValue == number }
            return version.map { .resumable(ResumableDialect($0)) } ?? .unknownVersion(number)
        }
        let (complete, incomplete) = (fields.contains(.uploadComplete), fields.contains(.uploadIncomplete))
        guard complete || incomplete || mediaType == UploadMediaType.partialUpload else { return nil }
        return .resumable(ResumableDialect(nil, statesIncomplete: incomplete && !complete))
    }
}
