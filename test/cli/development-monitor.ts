/** Monitors the applications of this process, as `filigree dev` does for the development page. */
import { setDevelopmentHost } from '../../src/bootstrap/cli-hooks.js'
import { DevelopmentMonitor } from '../../src/cli/dev/development-monitor.js'

type MonitorOptions = ConstructorParameters<typeof DevelopmentMonitor>[0]

/** The applications that start from now on are monitored, until `stopMonitoring`. */
export function startMonitoring(
  secret: string,
  options: Omit<MonitorOptions, 'secret' | 'started'> = {},
): DevelopmentMonitor {
  const monitor = new DevelopmentMonitor({ secret, started: () => undefined, ...options })
  setDevelopmentHost(monitor)
  return monitor
}

export function stopMonitoring(monitor: DevelopmentMonitor): void {
  setDevelopmentHost(undefined)
  monitor.recorder.close()
}

/** Applications that start during the work are not monitored. */
export async function withoutMonitoring(
  monitor: DevelopmentMonitor,
  work: () => Promise<void>,
): Promise<void> {
  setDevelopmentHost(undefined)
  try {
    await work()
  } finally {
    setDevelopmentHost(monitor)
  }
}
