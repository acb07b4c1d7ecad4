package import HTTPTypes

extension HTTPField.Name {
    package static let forwarded = Self(literal: "Forwarded")
    package static let xForwardedFor = Self(literal: "X-Forwarded-For")
    package static let xRequestID = Self(literal: "X-Request-ID")
    package static let xHTTPMethodOverride = Self(literal: "X-HTTP-Method-Override")
    package static let referrerPolicy = Self(literal: "Referrer-Policy")
    package static let secFetchSite = Self(literal: "Sec-Fetch-Site")

    /// - Parameter name: a token, as in all uses above.
    private init(literal name: String) { self = Self(name) ?? .server }
}
