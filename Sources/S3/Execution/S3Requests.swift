internal import Commands
internal import Transfers

/// The requests of one command to its endpoint, not signed.
struct S3Requests: Sendable {
    private static let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

    let address: S3Address
    let payload: S3Payload
    let command: CommandID
    /// The media type of the file, where the payload names none.
    let contentType: String

    func create() -> AWSRequest {
        request("POST", query: [S3QueryItem("uploads")], object + [payload.checksum.announcement].compactMap(\.self))
    }

    /// - Parameter number: 1…10,000
    func part(_ number: Int, of uploadID: String, _ digest: S3PartDigest) -> AWSRequest {
        request(
            "PUT", query: [S3QueryItem("partNumber", String(number)), S3QueryItem("uploadId", uploadID)],
            repeated + [payload.checksum.header(digest)].compactMap(\.self))
    }

    func complete(_ uploadID: String) -> AWSRequest {
        var headers = repeated + [HTTPField("Content-Type", "application/xml")] + condition
        // Other stores refuse headers that they do not know. AWS compares the sizes.
        if address.isAmazon, let size = payload.source?.size {
            headers.append(HTTPField("x-amz-mp-object-size", String(size)))
        }
        return request("POST", query: [S3QueryItem("uploadId", uploadID)], headers)
    }

    /// The body of the completion: our own list of the parts, never the endpoint's.
    /// - Parameter parts: all parts, in the order of their numbers; 1.0 MB of text for 10,000
    ///   tags that are MD5s.
    static func completion(_ parts: [S3Part]) -> [UInt8] {
        var text = "<CompleteMultipartUpload xmlns=\"\(namespace)\">"
        for part in parts {
            text += "<Part><PartNumber>\(part.number)</PartNumber>"
            text += "<ETag>&quot;\(XMLText.escaped(part.etag))&quot;</ETag>"
            if let checksum = part.checksum {
                text += "<ChecksumCRC32C>\(XMLText.escaped(checksum))</ChecksumCRC32C>"
            }
            text += "</Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }

    func put(_ digest: S3PartDigest) -> AWSRequest {
        request("PUT", object + condition + [payload.checksum.header(digest)].compactMap(\.self))
    }

    func abort(_ uploadID: String) -> AWSRequest {
        request("DELETE", query: [S3QueryItem("uploadId", uploadID)], requester)
    }

    /// - Parameter marker: the number after which the page begins; 0 for the first one.
    func listParts(_ uploadID: String, after marker: Int = 0) -> AWSRequest {
        var query = [S3QueryItem("uploadId", uploadID), S3QueryItem("max-parts", "1000")]
        if marker > 0 { query.append(S3QueryItem("part-number-marker", String(marker))) }
        return request("GET", query: query, repeated)
    }

    /// The unfinished uploads whose keys begin with this key.
    func listUploads(after marker: S3UploadPage.Marker? = nil) -> AWSRequest {
        var query = [S3QueryItem("uploads"), S3QueryItem("prefix", address.key)]
        if let marker {
            query += [S3QueryItem("key-marker", marker.key), S3QueryItem("upload-id-marker", marker.id)]
        }
        return AWSRequest(
            method: "GET", host: address.host, path: address.bucketPath, query: query, headers: requester)
    }

    func head() -> AWSRequest { request("HEAD", repeated) }

    // MARK: Headers

    /// The headers that describe the object.
    private var object: [HTTPField] {
        var fields = payload.headers
        fields.append(HTTPField("Content-Type", payload.contentType ?? contentType))
        fields += payload.metadata.map { HTTPField(S3HeaderRules.metadataPrefix + $0.name, $0.value) }
        fields.append(HTTPField(S3HeaderRules.metadataPrefix + S3HeaderRules.commandName, command.description))
        return fields
    }

    /// The headers of the object that every request repeats.
    private var repeated: [HTTPField] { payload.headers.filter { S3HeaderRules.isRepeated($0.name) } }

    /// The same without the encryption key, which requests without an object's content do not take.
    private var requester: [HTTPField] {
        repeated.filter { !$0.lowerName.hasPrefix("x-amz-server-side-encryption") }
    }

    private var condition: [HTTPField] { payload.ifAbsent ? [HTTPField("If-None-Match", "*")] : [] }

    private func request(
        _ method: String, query: [S3QueryItem] = [], _ headers: [HTTPField]
    ) -> AWSRequest {
        AWSRequest(method: method, host: address.host, path: address.path, query: query, headers: headers)
    }
}

/// Text in an XML document.
enum XMLText {
    /// The text with the five predefined entities. Control characters become references, as S3 writes them.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&apos;"
            case "\u{0}"..<" ", "\u{7F}": escaped += "&#x\(String(scalar.value, radix: 16, uppercase: true));"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
