/// Where a tus upload lives, and the cookies that came with its creation.
struct TusLocation: Sendable, Equatable {
    var url: UploadURL
    var cookies: [UploadCookie] = []

    /// Headers that its requests carry.
    /// - Parameter upload: whose own `Cookie` goes along.
    func headers(_ upload: UploadPayload) -> [(name: String, value: String)] {
        let pairs = cookies.filter { $0.isFor(url.path) }.map(\.pair)
        guard !pairs.isEmpty else { return [] }
        let own = upload.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value)
        return [("Cookie", (own + pairs).joined(separator: "; "))]
    }
}
