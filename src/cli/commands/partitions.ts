/** `filigree partitions`: creates the next partitions of records with `partitionBy`, and detaches old ones. */
import type { PartitionReport } from '../../records/schema/maintain-partitions.js'
import { defineCommand, flag, moduleOption, option, readInteger, UsageError } from '../command.js'
import { loadApplication, openDatabase, planForDatabase } from '../load-application.js'
import { toJson } from '../output.js'

export const partitionsCommand = defineCommand({
  group: 'Operate',
  usage: 'filigree partitions',
  summary: 'creates the next partitions and detaches old ones',
  description: `Creates the partitions of the current period and of the following ones for each record with partitionBy, and detaches
those that are older than its keep. A detached partition stays as a table of its own: nothing is dropped. The exit code is 1
if a partition could not be created or detached. A process that imports filigree/jobs and runs jobs does this every day.`,
  options: {
    ahead: option('<number>', 'how many partitions follow the current one. Default: 3'),
    from: option(
      '<date>',
      'also creates the partitions since a date, for rows to copy: 2024-01-01',
    ),
    'dry-run': flag('only prints what would be done'),
    module: moduleOption,
    json: flag('prints a list of { table, created, detached, failed, until }'),
  },
  examples: ['filigree partitions', 'filigree partitions --ahead 6 --dry-run'],
  maxPositionals: 0,
  run: async ({ values }, terminal) => {
    const ahead = readInteger('--ahead', values.ahead ?? '3', 0)
    const application = await loadApplication(values.module, terminal)
    const plan = await planForDatabase(application)
    const database = await openDatabase(plan, application.options.database, terminal)
    try {
      const dryRun = values['dry-run']
      const { from } = values
      if (from !== undefined && Number.isNaN(Date.parse(from)))
        throw new UsageError(`--from ${from} is not a date. Write it as 2024-01-01.`)
      const reports = await database.maintainPartitions({
        ahead,
        dryRun,
        ...(from !== undefined && { from }),
      })
      const title = database.context.dialect.product.title
      const hasPartitions = database.context.dialect.tables.partitions !== undefined
      const none = hasPartitions
        ? 'No record has partitionBy, or its table does not exist yet.\n'
        : `${title} has no partitions: partitionBy changes nothing there.\n`
      const lines = reports.flatMap((report) => describeReport(report, dryRun))
      const text = reports.length === 0 ? none : `${lines.join('\n')}\n`
      await terminal.out(values.json ? toJson(reports) : text)
      return reports.every(({ failed }) => failed.length === 0)
    } finally {
      await database.close()
    }
  },
})

function describeReport(
  { table, created, detached, failed, until }: PartitionReport,
  isDryRun: boolean,
): string[] {
  const would = isDryRun ? 'would be ' : ''
  const lines = [
    ...created.map((name) => `${table}: ${name} ${would}created`),
    ...detached.map(
      (name) =>
        `${table}: ${name} ${would}detached, and ${isDryRun ? 'would stay' : 'stays'} as a table`,
    ),
    ...failed.map(({ name, reason }) => `${table}: ${name} failed: ${reason}`),
  ]
  const end =
    until === null
      ? 'no partition for the current time'
      : `partitions until ${until.slice(0, 16)} UTC`
  return [...lines, `${table}: ${end}`]
}
