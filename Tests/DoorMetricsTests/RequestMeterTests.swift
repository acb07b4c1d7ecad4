import HTTPTypes
import Telemetry
import Testing

@testable import Door
@testable import DoorMetrics

struct RequestMeterTests {
    private func request(_ method: HTTPRequest.Method?, _ route: String?, _ status: HTTPResponse.Status)
        -> CompletedRequest
    {
        CompletedRequest(
            id: "1", method: method, route: route, status: status, duration: .milliseconds(30), client: nil,
            principal: nil, isComplete: true)
    }

    @Test func `requests count by route, method and status`() throws {
        let meter = RequestMeter()
        for _ in 0..<3 { meter.observe(request(.get, "/api/v1/commands/{id}", .ok)) }
        meter.observe(request(.get, "/api/v1/commands/{id}", .notFound))
        let family = meter.family
        #expect(family.samples.count == 2 && family.kind == .histogram)
        let counts = family.samples.map { sample in
            if case .histogram(let value) = sample.value { value.count } else { 0 }
        }
        #expect(counts.sorted() == [1, 3])
        #expect(family.samples.allSatisfy { $0.labels.contains(MetricLabel("http_route", "/api/v1/commands/{id}")) })
    }

    @Test func `methods that a route lacks are one series`() {
        let meter = RequestMeter()
        for method in [HTTPRequest.Method.put, .delete, .patch, .trace] {
            meter.observe(request(method, "/healthz", .methodNotAllowed))
        }
        meter.observe(request(.get, "/healthz", .ok))
        #expect(meter.family.samples.count == 2)
    }

    @Test func `a method that HTTP does not have is _OTHER, and so is one that could not be read`() throws {
        let meter = RequestMeter()
        for number in 0..<100 {
            let method = try #require(HTTPRequest.Method(rawValue: "M\(number)"))
            meter.observe(request(method, nil, .methodNotAllowed))
        }
        meter.observe(request(nil, nil, .methodNotAllowed))
        #expect(
            meter.family.samples.map(\.labels) == [
                [MetricLabel("http_request_method", "_OTHER"), MetricLabel("http_response_status_code", "405")]
            ])
    }
}
