internal import Commands
internal import HTTPClient
internal import Transfers

/// The stored responses that a request of `request` or `upload` makes stale (RFC 9111, section 4.4).
enum CacheInvalidation {
    /// The methods that change nothing (RFC 9110, section 9.2.1). Any other one may change its target.
    private static let safe: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE"]

    /// - Returns: at most three URLs in the form of ``CacheKey/url(_:)``: the target, and the `Location` and
    ///   `Content-Location` of the same origin. All partitions and variants of each are concerned. Empty for
    ///   a safe method, and for a status other than 2xx and 3xx.
    static func urls(method: String, url: ResourceURL, response: ResponseHead) -> [String] {
        guard !safe.contains(method), (200..<400).contains(response.status), url.scheme != .file else { return [] }
        var urls = [CacheKey.normalized(url)]
        for name in ["location", "content-location"] {
            guard let reference = response.headers.first(name), let target = url.resolving(reference),
                target.destination == url.destination, case let text = CacheKey.normalized(target),
                !urls.contains(text)
            else { continue }
            urls.append(text)
        }
        return urls
    }
}
