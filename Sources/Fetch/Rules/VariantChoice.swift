internal import Commands
internal import Transfers

/// Chooses the stored response that fits a request (RFC 9111, section 4.1).
enum VariantChoice {
    /// Every nominated header must match. Of several that match, one with `Vary` goes before one without, as
    /// some servers leave it out of their default response; then the one that its origin made last. A stale
    /// variant never hides another one. `Vary: *` matches nothing: such a response is chosen only where no
    /// other fits, to be validated or to be shown offline.
    /// - Parameter variants: the responses of one URL and partition, in any order.
    static func select(_ variants: [StoredResponse], for request: HeaderFields) -> StoredResponse? {
        let varying = variants.filter { $0.flags.contains(.variesByAnything) }
        let matching = variants.filter { variant in
            !variant.flags.contains(.variesByAnything)
                && VaryNames(variant.headers).text(for: request).hasSameBytes(as: variant.key.vary)
        }
        return (matching.isEmpty ? varying : matching).max { rank($0) < rank($1) }
    }

    private static func rank(_ response: StoredResponse) -> (Int, Timestamp, Timestamp) {
        (VaryNames(response.headers) == .names([]) ? 0 : 1, response.madeAt, response.validatedAt)
    }
}
