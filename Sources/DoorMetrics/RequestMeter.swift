internal import Door
internal import HTTPTypes
internal import Synchronization
internal import Telemetry

/// Measures the requests that the door has answered.
final class RequestMeter: Sendable {
    private struct Key: Hashable {
        var route: String?
        var method: String
        var status: Int
    }

    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE",
    ]
    private static let name = "http_server_request_duration_seconds"

    private let series = Mutex<[Key: HistogramSeries]>([:])

    func observe(_ request: CompletedRequest) {
        let key = Key(route: request.route, method: Self.method(of: request), status: request.status.code)
        let found = series.withLock { series in
            if let known = series[key] { return known }
            let made = HistogramSeries(bounds: MetricCatalog.bounds(Self.name))
            series[key] = made
            return made
        }
        found.observe(request.duration / .seconds(1))
    }

    /// Methods that a route lacks are one series: clients without a token send any.
    private static func method(of request: CompletedRequest) -> String {
        guard request.status != .methodNotAllowed, let name = request.method?.rawValue, methods.contains(name) else {
            return "_OTHER"
        }
        return name
    }

    var family: MetricFamily {
        let series = series.withLock { $0 }
        return MetricFamily(
            Self.name, .histogram,
            series.map { key, series in
                var labels = [
                    MetricLabel("http_request_method", key.method),
                    MetricLabel("http_response_status_code", "\(key.status)"),
                ]
                // A request without an endpoint has no label, as in OpenTelemetry.
                if let route = key.route { labels.append(MetricLabel("http_route", route)) }
                return MetricSample(series.value, labels)
            })
    }
}
