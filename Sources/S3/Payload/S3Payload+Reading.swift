package import Commands
internal import HTTPClient
package import Operations
package import Transfers

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
