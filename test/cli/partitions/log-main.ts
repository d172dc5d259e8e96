/** An application whose table is partitioned by time. */
import { Field, Module, NoAuth, Record, type Generated } from 'filigree'
import { jobs } from 'filigree/jobs'

@Record({ table: 'log_line', partitionBy: { field: 'at', every: 'month', keep: '12mo' } })
@NoAuth
export class LogLine {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
  @Field('datetime', { default: 'now' }) at!: Generated<string>
  @Field('string') text!: string
}

@Module({ records: [LogLine] })
export class AppModule {}

/** The same application in a process that runs jobs. */
@Module({ records: [LogLine], imports: [jobs({ work: true })] })
export class WorkingModule {}
