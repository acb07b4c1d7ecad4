package import Commands
internal import HTTPClient
package import Operations
package import Transfers

/// The payload of an `s3`, checked.
///
/// ```
/// {"file": "/data/a.mp4",                     the source: a regular file; made absolute at submit
///  "endpoint": "https://s3.example.com",      an origin, or a URL that buckets are below: https://host/storage/v1/s3
///  "region": "us-east-1",                     the default
///  "bucket": "media",
///  "key": "in/",                              a trailing slash appends the file's name; absent: the name
///  "addressing": "path",                      or "virtual": https://bucket.endpoint
///  "partSize": 16777216,                      bytes, or "16MiB"; 5 MiB to 5 GiB; ``PartPlan`` chooses
///  "contentType": "video/mp4",
///  "metadata": {"title": "a"},                sent as x-amz-meta-title
///  "headers": {"x-amz-acl": "private"},       of the object: ACL, storage class, encryption, Cache-Control
///  "ifAbsent": false,                         true: never replaces an object
///  "checksum": "sha256",                      the default; or "md5", "crc32c", "none"
///  "removeSource": false,
///  "source": {"size": …, "mtime": …, "inode": …, "device": …}}    recorded at submit
/// ```
///
/// or `{"file", "presigned": "https://…?X-Amz-Signature=…"}` with `contentType`, `headers` and
/// `removeSource`: one PUT of at most 5 GiB, which cannot be resumed. Then the headers are exactly the signed
/// ones.
package struct S3Payload: Sendable, Equatable {
    /// Where the object goes.
    package enum Target: Sendable, Equatable {
        case object(endpoint: S3Endpoint, region: String, addressing: S3Addressing, bucket: String, key: String)
        case presigned(S3PresignedURL)
    }

    package var file: String
    package var target: Target
    var partSize: Int64?
    package var contentType: String?
    /// With names in lower case.
    var metadata: [HTTPField] = []
    var headers: [HTTPField] = []
    var ifAbsent = false
    var checksum = S3Checksum.sha256
    package var removeSource = false
    package var source: SourceIdentity?

    init(file: String, target: Target) {
        self.file = file
        self.target = target
    }

    /// The command may always be executed again. With `ifAbsent` the repetition cannot replace an object, and
    /// the 412 after an ambiguous end leads to a look at the object's metadata (``S3Verdict``).
    var isIdempotent: Bool { true }

    /// The destination of the command: the endpoint.
    package var destination: Destination {
        switch target {
        case .object(let endpoint, _, _, _, _): endpoint.destination
        case .presigned(let presigned): presigned.url.destination
        }
    }

    /// Appends the name of the file to a key that ends in a slash, and takes it for a key that is empty.
    /// - Throws: ``PayloadError`` where the key becomes too long.
    package mutating func resolveKey() throws(PayloadError) {
        guard case .object(let endpoint, let region, let addressing, let bucket, let key) = target else { return }
        guard key.isEmpty || key.endsWithBytes(of: "/") else { return }
        let whole = key + file.lastPathName
        target = .object(endpoint: endpoint, region: region, addressing: addressing, bucket: bucket, key: whole)
        _ = try address()
    }

    /// The address of the object; nil for a presigned URL.
    func address() throws(PayloadError) -> S3Address? {
        guard case .object(let endpoint, _, let addressing, let bucket, let key) = target else { return nil }
        do {
            return try S3Address(
                endpoint: endpoint.destination, basePath: endpoint.path, addressing: addressing, bucket: bucket,
                key: key)
        } catch {
            throw PayloadError(.data, error.message)
        }
    }

    /// The parts of a file of this size. A presigned URL takes the file in one request.
    /// - Throws: ``PayloadError`` where the file is too large.
    func plan(size: Int64) throws(PayloadError) -> PartPlan {
        do throws(PartPlanError) {
            guard case .presigned = target else { return try PartPlan(size: size, partSize: partSize) }
            guard size <= PartPlan.maxSingle else {
                throw PartPlanError(
                    "the file has \(size) bytes; a presigned URL takes at most \(PartPlan.maxSingle) (5 GiB)")
            }
            return try PartPlan(size: size, partSize: PartPlan.maxSingle)
        } catch {
            throw PayloadError(.data, error.message)
        }
    }

    /// The part of the payload by which two commands under one unique key are equal.
    var identity: JSONValue { json(source: source?.content) }

    package var json: JSONValue { json(source: source?.json) }

    private func json(source: JSONValue?) -> JSONValue {
        var members: [JSONValue.Member] = [.init("file", .string(file))]
        switch target {
        case .presigned(let presigned): members.append(.init("presigned", .string(presigned.url.text)))
        case .object(let endpoint, let region, let addressing, let bucket, let key):
            members += [
                .init("endpoint", .string(endpoint.text)), .init("region", .string(region)),
                .init("bucket", .string(bucket)), .init("key", .string(key)),
                .init("addressing", .string(addressing.rawValue)),
            ]
            if let partSize { members.append(.init("partSize", .integer(partSize))) }
            if !metadata.isEmpty { members.append(.init("metadata", Self.object(metadata))) }
            members += [.init("ifAbsent", .bool(ifAbsent)), .init("checksum", .string(checksum.rawValue))]
        }
        if let contentType { members.append(.init("contentType", .string(contentType))) }
        if !headers.isEmpty { members.append(.init("headers", Self.object(headers))) }
        members.append(.init("removeSource", .bool(removeSource)))
        if let source { members.append(.init("source", source)) }
        return .object(members)
    }

    private static func object(_ fields: [HTTPField]) -> JSONValue {
        .object(fields.map { .init($0.name, .string($0.value)) })
    }
}

extension S3Payload {
    private static let keys =
        "“file”, “endpoint”, “region”, “bucket”, “key”, “addressing”, “partSize”, “contentType”, “metadata”, “headers”, "
        + "“ifAbsent”, “checksum” and “removeSource”, or “file” and “presigned”"
    private static let objectKeys = [
        "endpoint", "region", "bucket", "key", "addressing", "partSize", "metadata", "ifAbsent", "checksum",
    ]

    /// Reads and checks the payload without touching the file system.
    package init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader(value, of: "an s3 command", keys: Self.keys)
        let file = try reader.text("file", isRequired: true) ?? ""
        guard !file.isEmpty, !file.utf8.contains(0) else {
            throw PayloadError(.data, "“file” is empty or contains a zero byte")
        }
        if let text = try reader.text("presigned") {
            self.init(file: file, target: .presigned(try S3PresignedURL(text)))
            for key in Self.objectKeys where reader.take(key) != nil {
                throw PayloadError(.data, "“\(key)” is fixed by the presigned URL; leave it out")
            }
        } else {
            self.init(file: file, target: try Self.object(&reader))
            if let value = reader.take("partSize") { partSize = try Self.partSize(value) }
            if let value = reader.take("metadata") { metadata = try Self.metadata(value) }
            ifAbsent = try reader.flag("ifAbsent") ?? false
            if let name = try reader.text("checksum") { checksum = try Self.checksum(name) }
        }
        contentType = try reader.text("contentType")
        headers = try reader.headers("headers")
        removeSource = try reader.flag("removeSource") ?? false
        if let recorded = reader.take("source") { source = try SourceIdentity(recorded) }
        try reader.finish()
        try checkHeaders()
        // A key that gets the name of the file is checked like the whole one.
        var whole = self
        try whole.resolveKey()
        _ = try whole.address()
    }

    private func checkHeaders() throws(PayloadError) {
        if let contentType, let objection = HTTPHeaderRules.objection(to: "Content-Type", value: contentType) {
            throw PayloadError(.data, objection)
        }
        let fields = headers.count + metadata.count
        guard fields <= S3HeaderRules.maxFields else {
            throw PayloadError(
                .data, "“headers” and “metadata” have \(fields) entries; the maximum is \(S3HeaderRules.maxFields)")
        }
        if case .presigned(let presigned) = target {
            let names = headers.map(\.name) + (contentType == nil ? [] : ["content-type"])
            if let objection = presigned.objection(toHeaders: names) { throw PayloadError(.data, objection) }
            return
        }
        for field in headers {
            if let objection = S3HeaderRules.objection(to: field.name, value: field.value) {
                throw PayloadError(.data, objection)
            }
        }
    }

    // MARK: Values

    /// The members that name an object.
    package static func object(_ reader: inout PayloadReader) throws(PayloadError) -> Target {
        guard let endpoint = S3Endpoint(try reader.text("endpoint", isRequired: true) ?? "") else {
            throw PayloadError(
                .usage,
                "“endpoint” must be a URL such as https://s3.example.com or https://example.com/storage/v1/s3, without a "
                    + "user, a query and dot segments")
        }
        let region = try reader.text("region") ?? "us-east-1"
        guard (1...64).contains(region.utf8.count),
            region.utf8.allSatisfy({ $0.isLetter || $0.isDigit || "-_".utf8.contains($0) })
        else {
            throw PayloadError(
                .data,
                "“region” is “\(SingleLine.text(region, limit: 80))”; it has letters, digits and hyphens, as in eu-west-1"
            )
        }
        let name = try reader.text("addressing") ?? S3Addressing.path.rawValue
        guard let addressing = S3Addressing(rawValue: name) else {
            throw PayloadError(
                .data, "“addressing” is “\(SingleLine.text(name, limit: 80))”; it is “path” or “virtual”")
        }
        return .object(
            endpoint: endpoint, region: region, addressing: addressing,
            bucket: try reader.text("bucket", isRequired: true) ?? "", key: try reader.text("key") ?? "")
    }

    private static func partSize(_ value: JSONValue) throws(PayloadError) -> Int64? {
        if value == .null { return nil }
        guard let size = value.integer ?? value.string.flatMap(ByteCount.bytes) else {
            throw PayloadError(.data, "“partSize” must be bytes such as 16777216 or “16MiB”")
        }
        guard PartPlan.partSizes.contains(size) else {
            throw PayloadError(.data, "“partSize” is \(size) bytes; a part has 5 MiB to 5 GiB")
        }
        return size
    }

    private static func checksum(_ name: String) throws(PayloadError) -> S3Checksum {
        guard let checksum = S3Checksum(rawValue: name) else {
            throw PayloadError(
                .data,
                "“checksum” is “\(SingleLine.text(name, limit: 80))”; it is “sha256”, “md5”, “crc32c” or “none”")
        }
        return checksum
    }

    private static func metadata(_ value: JSONValue) throws(PayloadError) -> [HTTPField] {
        guard let members = value.members else {
            throw PayloadError(.data, "“metadata” must be an object, not \(value.kind)")
        }
        var fields: [HTTPField] = []
        var names: Set<String> = []
        for member in members {
            guard let text = member.value.string else {
                throw PayloadError(
                    .data, "“\(member.name)” in “metadata” must be a string, not \(member.value.kind)")
            }
            if let objection = S3HeaderRules.objection(toMetadata: member.name, value: text) {
                throw PayloadError(.data, objection)
            }
            guard names.insert(member.name.lowercased()).inserted else {
                throw PayloadError(.data, "“\(member.name)” occurs twice in “metadata”; keep one of them")
            }
            fields.append(HTTPField(member.name.lowercased(), text))
        }
        // The entry of the command has 14 + 36 bytes.
        let length = fields.reduce(50) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard length <= S3HeaderRules.maxMetadataLength else {
            throw PayloadError(
                .data,
                "“metadata” has \(length) bytes with the command's own; S3 stores at most "
                    + "\(S3HeaderRules.maxMetadataLength)")
        }
        return fields
    }
}
