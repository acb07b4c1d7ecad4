internal import Commands

/// One page of ListMultipartUploads.
struct S3UploadPage: Sendable, Equatable {
    struct Upload: Sendable, Equatable {
        var key: String
        var id: String
        var initiated: Timestamp?
    }

    /// Where the next page begins.
    struct Marker: Sendable, Equatable {
        var key: String
        var id: String
    }

    var uploads: [Upload]
    /// Nil on the last page, and where the endpoint does not say where the next one begins.
    var next: Marker?

    init(_ record: XMLRecord) {
        uploads = record.items.compactMap { item in
            guard let key = item["Key"], let id = XMLRecord.word(item["UploadId"]), S3Checkpoint.isUploadID(id) else {
                return nil
            }
            let initiated = XMLRecord.word(item["Initiated"]).flatMap { Timestamp(rfc3339: $0) }
            return Upload(key: key, id: id, initiated: initiated)
        }
        if record.word("IsTruncated")?.lowercased() == "true", let key = record.fields["NextKeyMarker"], !key.isEmpty {
            next = Marker(key: key, id: record.word("NextUploadIdMarker") ?? "")
        }
    }

    /// The uploads that a lost answer to CreateMultipartUpload has left, newest first. Only a key with the
    /// command's id in it says that they are this command's: another client may upload to any other key.
    func ours(key: String, command: String) -> [Upload] {
        guard !command.isEmpty, key.contains(command) else { return [] }
        return uploads.filter { $0.key.hasSameBytes(as: key) }
            .sorted { ($0.initiated ?? .zero, $0.id) > ($1.initiated ?? .zero, $1.id) }
    }
}
