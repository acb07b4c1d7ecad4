internal import Commands
internal import Crypto
internal import Door
internal import HTTPTypes
internal import NIOCore

/// The style, the scripts and the icon, which are part of the program.
enum Assets {
    private static let all: [String: (type: String, bytes: [UInt8])] = [
        "style.css": ("text/css; charset=utf-8", PackageResources.style_css),
        "live.js": ("text/javascript; charset=utf-8", PackageResources.live_js),
        "stream.js": ("text/javascript; charset=utf-8", PackageResources.stream_js),
        "upload.js": ("text/javascript; charset=utf-8", PackageResources.upload_js),
        "icon.svg": ("image/svg+xml", PackageResources.icon_svg),
    ]

    /// A part of their URLs that changes with their contents, so that browsers may keep them for a year.
    static let hash: String = {
        var hash = SHA256()
        for (name, asset) in all.sorted(by: { $0.key < $1.key }) {
            hash.update(data: Array(name.utf8))
            hash.update(data: asset.bytes)
        }
        return Hexadecimal.text(hash.finalize().prefix(6))
    }()

    static var endpoint: Endpoint {
        var endpoint = Endpoint(
            "/assets/{hash}/{name}",
            methods: [
                .get: .init(scopes: nil) { request in
                    guard request.parameters["hash"] == hash, let asset = all[request.parameters["name"] ?? ""] else {
                        throw Problem(.notFound, "not-found", "There is no such file; load the page again.")
                    }
                    var response = Response(
                        status: .ok, headers: [.contentType: asset.type],
                        body: Response.Body(byteBuffer: ByteBuffer(bytes: asset.bytes)))
                    response.headers[.cacheControl] = "public, max-age=31536000, immutable"
                    response.headers[.crossOriginResourcePolicy] = "same-origin"
                    return response
                }
            ])
        endpoint.isEssential = true
        return endpoint
    }

    /// Bytes of one file, for tests of the budget.
    static func size(_ name: String) -> Int { all[name]?.bytes.count ?? 0 }
}
