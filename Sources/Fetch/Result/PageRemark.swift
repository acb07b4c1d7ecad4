internal import Commands
internal import HTTPClient
internal import Transfers

/// The remark of a fetch whose answer seems to be one page of a longer list, with the option that reads the rest.
///
/// A fetch is one request, so it cannot read the list; without a word the page would pass for all of it.
enum PageRemark {
    /// Bytes of the longest body that is looked at. Pages of APIs are shorter; of a longer body only the header is.
    static let maxBody = 1 << 20

    /// Blocks where the body is a file.
    /// - Parameters:
    ///   - headers: of the response, also where the result does not have them.
    static func text(_ result: FetchResult, headers: HeaderFields, _ body: FetchBody) -> String? {
        guard (200..<300).contains(result.status) else { return nil }
        var answer: JSONValue?
        if HTTPResult.isJSON(type: headers.first("content-type")), let bytes = body.bytes(upTo: maxBody) {
            answer = try? JSONValue(parsing: bytes)
        }
        guard let rest = PagingSigns(answer: answer, fields: headers).rest else { return nil }
        // `no-store` forbids to keep the count of an answer, and the names of its members.
        let sign = result.isWithheld ? "" : ": \(rest)"
        return "this may be one page of a longer list; “sluice sync” reads all pages\(sign)"
    }
}
