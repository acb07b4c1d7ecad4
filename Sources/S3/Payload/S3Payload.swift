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
