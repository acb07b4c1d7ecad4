/// The part of a receiver's response that decides.
struct WebhookResponse: Sendable, Equatable {
    var status: Int
    /// `Retry-After` as it came, or what ``RequestLimit`` says.
    var retryAfter: String?
    /// `Location` as it came.
    var location: String?
    /// The start of the body, for the reason.
    var text = ""

    init(_ status: Int) { self.status = status }
}
