package import HTTPTypes

extension HTTPField.Name {
    package static let forwarded = HTTPField.Name("Forwarded")!
    package static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
    package static let xForwardedProto = HTTPField.Name("X-Forwarded-Proto")!
    package static let xRequestID = HTTPField.Name("X-Request-ID")!
    package static let xHTTPMethodOverride = HTTPField.Name("X-HTTP-Method-Override")!
    package static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    package static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
}
