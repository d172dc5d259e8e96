/** The records of the example in docs/records/writes.md, Hooks. A test compares the page with this file. */
import {
  BeforeDelete,
  BeforeWrite,
  BelongsTo,
  type DeleteContext,
  Field,
  type Generated,
  HasMany,
  HttpError,
  Record,
  type Rel,
  type WriteContext,
} from 'filigree'

const steps: { [status: string]: string[] } = {
  open: ['waiting', 'solved'],
  waiting: ['open', 'solved'],
  solved: ['open'],
}

@Record
export class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('string', { oneOf: ['open', 'waiting', 'solved'], default: 'open' })
  status!: Generated<string>
  @Field('integer') deskId!: number
  @BelongsTo(() => Desk) desk!: Rel<Desk>

  /** A state machine: which status may follow which. */
  @BeforeWrite()
  checkStatus({ before, changed }: WriteContext<Ticket>) {
    if (before === null || !changed.has('status')) return
    if (steps[before.status]?.includes(this.status)) return
    throw new HttpError(409, `A ticket that is ${before.status} cannot become ${this.status}.`)
  }

  /** A rule across two records: a closed desk takes no tickets. */
  @BeforeWrite()
  async checkDesk({ changed, records }: WriteContext<Ticket>) {
    if (!changed.has('deskId')) return
    const desk = await records(Desk).find(this.deskId)
    if (desk?.closed) throw new HttpError(409, `${desk.name} is closed.`)
  }

  /** A stored counter: how many tickets of a desk are not solved. */
  @BeforeWrite()
  async count({ before, records }: WriteContext<Ticket>) {
    if (before !== null && before.status !== 'solved')
      await records(Desk).update(before.deskId, { unsolved: { add: -1 } })
    if (this.status !== 'solved') await records(Desk).update(this.deskId, { unsolved: { add: 1 } })
  }

  @BeforeDelete()
  async countDeleted({ records }: DeleteContext) {
    if (this.status !== 'solved') await records(Desk).update(this.deskId, { unsolved: { add: -1 } })
  }
}

@Record
export class Desk {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('boolean', { default: false }) closed!: Generated<boolean>
  @Field('integer', { readOnly: true, default: 0, min: 0 }) unsolved!: Generated<number>
  @HasMany(() => Ticket) tickets!: Rel<Ticket[]>

  @BeforeWrite()
  checkClosed({ changed }: WriteContext) {
    if (changed.has('closed') && this.closed && this.unsolved > 0)
      throw new HttpError(409, `${this.unsolved} tickets of ${this.name} are not solved.`)
  }
}
