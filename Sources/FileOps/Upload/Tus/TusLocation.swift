internal import Transfers

/// The URL of a tus upload, and the cookies that came with its creation.
struct TusLocation: Sendable, Equatable {
    var url: ResourceURL
    var cookies: [UploadCookie] = []

    /// The headers of requests to the upload.
    /// - Parameter upload: the payload, whose `Cookie` header is sent too.
    func headers(_ upload: UploadPayload) -> [(name: String, value: String)] {
        let pairs = cookies.filter { $0.isFor(url.path) }.map(\.pair)
        guard !pairs.isEmpty else { return [] }
        let own = upload.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value)
        return [("Cookie", (own + pairs).joined(separator: "; "))]
    }
}
