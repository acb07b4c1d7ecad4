internal import Commands

/// Day, region and service for which a signature is valid: `20130524/us-east-1/s3/aws4_request`.
struct AWSScope: Sendable, Hashable {
    /// `20130524`
    let day: String
    let region: String
    let service: String

    init(at time: Timestamp, region: String, service: String = "s3") {
        day = String(AWSDate.text(time).prefix(8))
        self.region = region
        self.service = service
    }

    var text: String { "\(day)/\(region)/\(service)/aws4_request" }
}
