import Commands
import Console
import Store
import Telemetry
import Testing

@testable import DoorMetrics

struct StoreFiguresTests {
    private let now = Timestamp(milliseconds: 1_000_000)

    private func samples(_ name: String, _ figures: StoreFigures) -> [MetricSample] {
        figures.families(now: now).first { $0.name == name }?.samples ?? []
    }

    @Test func `figures of a store that cannot be read are missing, not zero`() {
        var figures = StoreFigures()
        figures.logs = [4096]
        let names = Set(figures.families(now: now).map(\.name))
        #expect(names == ["sluice_store_up", "sluice_coordinator_up", "sluice_store_bytes", "sluice_wal_bytes"])
        #expect(samples("sluice_store_up", figures) == [MetricSample(0)])
    }

    @Test func `commands, ages and workers have a series for each label, also where there is none`() {
        var figures = StoreFigures()
        figures.isReadable = true
        figures.counts[.inDoubt, .default] = 3
        figures.oldest[.background] = Timestamp(milliseconds: 970_000)
        figures.oldest[.utility] = Timestamp(milliseconds: 1_005_000)
        figures.workers = [WorkerReading(seat: 4, pid: 9, state: .draining)]
        #expect(samples("sluice_commands", figures).count == 9 * 5)
        #expect(samples("sluice_in_doubt", figures) == [MetricSample(3)])
        let ages = samples("sluice_oldest_ready_age_seconds", figures)
        #expect(ages.count == 5 && ages.contains(MetricSample(30, [MetricLabel("qos", "background")])))
        // The clock was set back.
        #expect(ages.contains(MetricSample(0, [MetricLabel("qos", "utility")])))
        #expect(
            samples("sluice_workers", figures).map(\.value) == [
                .number(0), .number(1), .number(0), .number(0), .number(0),
            ])
        #expect(samples("sluice_worker_in_flight", figures) == [MetricSample(0, [MetricLabel("seat", "4")])])
    }
}
