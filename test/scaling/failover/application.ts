/** The application whose database fails over: orders in transactions, payments with keys, jobs, and a live list. */
import { Controller, Database, Field, type Generated, Module, NoAuth, Post, Record } from 'filigree'
import { idempotent } from 'filigree/idempotent'
import { Job, Jobs, jobs } from 'filigree/jobs'

@Record
@NoAuth
export class Purchase {
  @Field('id') id!: number
  @Field('string') name!: string
}

/** Written together with each purchase. One without the other is a partial write. */
@Record
@NoAuth
export class Receipt {
  @Field('id') id!: number
  @Field('string') name!: string
}

/** Written with an `Idempotency-Key`. */
@Record
@NoAuth
export class Payment {
  @Field('id') id!: number
  @Field('string') reference!: string
}

/** One row for each run of a job. */
@Record
@NoAuth
export class Run {
  @Field('id') id!: number
  @Field('string') task!: string
}

/** The live list that the first process changes and the second one follows. */
@Record
@NoAuth
export class Board {
  @Field('id') id!: number
  @Field('integer', { default: 0 }) count!: Generated<number>
}

/** The live list that the second process changes and the first one follows. */
@Record
@NoAuth
export class Panel {
  @Field('id') id!: number
  @Field('integer', { default: 0 }) count!: Generated<number>
}

class Named {
  @Field('string') name!: string
}

class Tasks {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Job({ body: Named, retries: 20, backoff: '1s' }) async run({ name }: Named) {
    await this.database.records(Run).create({ task: name })
  }
}

@Controller('/purchases', { crud: Purchase })
class PurchaseController {}

@Controller('/payments', { crud: Payment })
class PaymentController {}

@Controller('/boards', { crud: Board })
class BoardController {}

@Controller('/panels', { crud: Panel })
class PanelController {}

@NoAuth
@Controller
class MixedController {
  static inject = [Database, Jobs]
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
  ) {}

  @Post('/buy', { body: Named, transaction: true }) async buy(body: Named) {
    const { name } = body
    const purchase = await this.database.records(Purchase).create({ name })
    await this.database.records(Receipt).create({ name })
    return { id: purchase.id }
  }

  @Post('/tasks', { body: Named }) async addTask(body: Named) {
    await this.jobs.add(Tasks, 'run', body)
    return { added: true }
  }
}

@Module({
  controllers: [
    PurchaseController,
    PaymentController,
    BoardController,
    PanelController,
    MixedController,
  ],
  providers: [Tasks],
  records: [Purchase, Receipt, Payment, Run, Board, Panel],
  imports: [idempotent({ maxKeys: 1_000_000 }), jobs({ work: true })],
})
export class FailoverModule {}
