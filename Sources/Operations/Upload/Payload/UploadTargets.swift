package import Commands
package import Work

/// The targets of the uploads of one submission.
package enum UploadTargets {
    /// Finds the first upload that would replace the file of an earlier one, because both have the same URL.
    /// A URL that ends in a slash gets the name of the file first. Uploads with the protocol `tus` never
    /// collide, because the server creates a URL for each.
    /// - Parameter payloads: the payloads of the uploads, in their order.
    /// - Returns: the indices of both; nil where all URLs differ.
    /// - Throws: ``PayloadError`` for a payload that `upload` would refuse.
    package static func collision(in payloads: [JSONValue]) throws(PayloadError) -> (
        earlier: Int, later: Int, url: String
    )? {
        var indices: [String: Int] = [:]
        for (index, payload) in payloads.enumerated() {
            let upload = try UploadPayload(payload)
            guard upload.transferProtocol != .tus else { continue }
            // URLs are ASCII, so equal strings have equal bytes.
            let url = upload.to.isDirectory ? upload.to.appending(name: upload.fileName) : upload.to
            if let earlier = indices.updateValue(index, forKey: url.text) { return (earlier, index, url.displayText) }
        }
        return nil
    }
}
