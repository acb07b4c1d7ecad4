import Commands
import Door
import DoorLive
import Queue
import Store
import Telemetry
import Testing
import UploadSpool
import Uploads

@testable import DoorMetrics

struct CatalogueTests {
    @Test func `every family of the door has its help`() {
        var figures = StoreFigures()
        figures.isReadable = true
        let spool = SpoolFigures(used: 1, promised: 2, free: 3, floor: 4)
        var families = figures.families(now: .now)
        families += DoorFigures.families(of: spool)
        families += DoorFigures.families(of: UploadStatistics.Counts())
        families += DoorFigures.families(of: DoorStatistics(), failures: [:], version: "1")
        families += LinkFigures.families(of: LivePart().snapshot.links)
        families += ServerFigures.families(of: ServerCounts())
        families += ServerFigures.families(ofTransactionOpenFor: 0)
        families.append(RequestMeter().family)
        for family in families { #expect(MetricCatalog.names.contains(family.name), "\(family.name)") }
        #expect(Set(families.map(\.name)).count == families.count)
    }
}
