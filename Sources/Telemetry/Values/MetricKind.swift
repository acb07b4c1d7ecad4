/// The kind of a family of metrics, in the words of Prometheus.
package enum MetricKind: String, Sendable {
    case counter, gauge, histogram
}
