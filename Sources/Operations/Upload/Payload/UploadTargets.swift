package import Commands
package import Work

/// Where the files of one submission go.
package enum UploadTargets {
    /// The first upload that would replace the file of an earlier one: both have one URL, once a URL that ends in a slash has
    /// got the file's name. Uploads that name the protocol `tus` never do, since their server makes a URL for each.
    /// - Parameter payloads: of uploads, in their order.
    /// - Returns: the indices of both; nil where every file has a URL of its own.
    /// - Throws: ``PayloadError`` for a payload that `upload` would refuse.
    package static func collision(in payloads: [JSONValue]) throws(PayloadError) -> (
        earlier: Int, later: Int, url: String
    )? {
        var indices: [String: Int] = [:]
        for (index, payload) in payloads.enumerated() {
            let upload = try UploadPayload(payload)
            guard upload.transferProtocol != .tus else { continue }
            // A URL is ASCII, so that equal strings have equal bytes.
            let url = upload.to.isDirectory ? upload.to.appending(name: upload.fileName) : upload.to
            if let earlier = indices.updateValue(index, forKey: url.text) { return (earlier, index, url.textForPeople) }
        }
        return nil
    }
}
