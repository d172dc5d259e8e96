/** Prints the outcome of the failovers as text. */
import type { Outcome } from './checks.js'

/** A failover. Times are in milliseconds; those without `At` count from the new primary's first response. */
export interface Round {
  readonly kind: 'switchover' | 'kill'
  readonly startedAt: number
  /** When the new primary first responded through haproxy. */
  readonly upAt: number
  /** From the beginning to the new primary's response. */
  readonly outage: number
  /** Until the first acknowledged write, for each process. */
  readonly service: readonly number[]
  /** Until all processes listen to changes again. */
  readonly listeners: number
  /** Until the live list of each process has a change that the other one wrote afterwards. */
  readonly fresh: readonly number[]
}

export function printReport(rounds: readonly Round[], outcome: Outcome): void {
  const { purchases, lost, half, keys, retriedKeys, wrongKeys, jobs, jobsLost, jobsAgain } = outcome
  console.log('\nAfter the new primary responds, in ms:')
  console.log('failover    primary after  service    listeners  live       longest key')
  for (const [index, { kind, outage, service, listeners, fresh }] of rounds.entries())
    console.log(
      [
        kind.padEnd(11),
        `${(outage / 1000).toFixed(1)} s`.padEnd(14),
        whole(...service).padEnd(10),
        whole(listeners).padEnd(10),
        whole(...fresh).padEnd(10),
        whole(outcome.longestKeys[index] ?? 0),
      ].join(' '),
    )
  const [without = '', withReplicas = ''] = outcome.outageReads.map(
    ({ all, answered }) => `${answered} of ${all}`,
  )
  console.log(`
purchases   ${purchases} acknowledged, ${lost} lost, ${half} written by half
keys        ${keys}, ${retriedKeys} sent again, ${wrongKeys} without exactly one row
jobs        ${jobs} added, ${jobsLost} did not run, ${jobsAgain} ran again
reads       ${outcome.reads}. During the outages ${without} were answered without replicas, and ${withReplicas} with replicas
responses   ${JSON.stringify(outcome.statuses)}`)
  for (const [message, count] of Object.entries(outcome.warnings))
    console.log(`log         ${count} × ${message}`)
  console.log(outcome.findings.length === 0 ? '\nNothing was found.' : '\nFindings:')
  for (const finding of outcome.findings) console.log(`  ${finding}`)
}

function whole(...milliseconds: readonly number[]): string {
  return milliseconds.map((time) => Math.round(time)).join(', ')
}
