package import Commands
package import Operations
internal import S3
internal import Transfers

/// The targets of the uploads of one submission.
package enum UploadTargets {
    /// Where a payload of `upload` or `s3` sends its file, for people; nil where the server chooses the URL (tus).
    /// - Parameter type: `upload` or `s3`.
    /// - Throws: ``PayloadError`` for a payload that the type would refuse.
    package static func target(of payload: JSONValue, _ type: String) throws(PayloadError) -> String? {
        guard type == CommandType.s3 else {
            let upload = try UploadPayload(payload)
            return upload.transferProtocol == .tus ? nil : upload.fileURL.displayText
        }
        var put = try S3Payload(payload)
        try put.resolveKey()
        return switch put.target {
        case .object(let endpoint, _, _, let bucket, let key): "s3://\(bucket)/\(key) at \(endpoint.text)"
        case .presigned(let presigned): presigned.url.displayText
        }
    }

    /// Finds the first upload that would replace the file of an earlier one, because both have the same URL.
    /// A URL that ends in a slash gets the name of the file first. Uploads with the protocol `tus` never
    /// collide, because the server creates a URL for each.
    /// - Parameters:
    ///   - payloads: the payloads of the uploads, in their order.
    ///   - type: of all of them, `upload` or `s3`.
    /// - Returns: the indices of both; nil where all URLs differ.
    /// - Throws: ``PayloadError`` for a payload that the type would refuse.
    package static func collision(
        in payloads: [JSONValue], _ type: String = CommandType.upload
    ) throws(PayloadError) -> (earlier: Int, later: Int, url: String)? {
        var indices: [[UInt8]: Int] = [:]
        for (index, payload) in payloads.enumerated() {
            guard let target = try target(of: payload, type) else { continue }
            let url = type == CommandType.upload ? try UploadPayload(payload).fileURL.text : target
            // Two keys of S3 with different bytes may be equal strings.
            if let earlier = indices.updateValue(index, forKey: Array(url.utf8)) { return (earlier, index, target) }
        }
        return nil
    }
}
