internal import Commands
package import HTTPTypes

/// The fields of every response.
package enum StandardFields {
    /// Adds the date, the id of the request, and the fields that keep browsers from guessing types, from telling other
    /// sites the address, and from storing a response. A response may have set the latter two itself.
    /// - Parameters:
    ///   - id: of the request.
    ///   - seconds: the wall clock, from 1970-01-01 on.
    package static func add(to fields: inout HTTPFields, id: String, seconds: Int64) {
        fields[.date] = DoorDate.text(seconds: seconds)
        fields[.xRequestID] = id
        fields[.xContentTypeOptions] = "nosniff"
        if !fields.contains(.referrerPolicy) { fields[.referrerPolicy] = "same-origin" }
        if !fields.contains(.cacheControl) { fields[.cacheControl] = "no-store" }
    }
}

extension HTTPField.Name {
    package static let forwarded = HTTPField.Name("Forwarded")!
    package static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
    package static let xForwardedProto = HTTPField.Name("X-Forwarded-Proto")!
    package static let xRequestID = HTTPField.Name("X-Request-ID")!
    package static let xHTTPMethodOverride = HTTPField.Name("X-HTTP-Method-Override")!
    package static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    package static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
}

/// The dates of HTTP (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum DoorDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Parameter seconds: from 1970-01-01 on.
    package static func text(seconds: Int64) -> String {
        let seconds = min(max(seconds, 0), 253_402_300_799)
        let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let date = CivilDate.date(days: days)
        let time = [rest / 3600, rest / 60 % 60, rest % 60].map(padded).joined(separator: ":")
        let month = months[Int(date.month) - 1]
        let year = String(repeating: "0", count: max(0, 4 - String(date.year).count)) + String(date.year)
        return "\(weekdays[Int(days % 7)]), \(padded(date.day)) \(month) \(year) \(time) GMT"
    }

    private static func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
