/** A small help desk with one statement per ticket, for the picture of the development page. */
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HasMany,
  Module,
  NoAuth,
  Record,
  type Rel,
} from 'filigree'

@Record
class Ticket {
  @Field('id') id!: number
  @Field('string', { minLength: 3 }) title!: string
  @Field('string', { oneOf: ['open', 'solved'], default: 'open' }) status!: string
  @HasMany(() => Comment) comments!: Rel<Comment[]>
}
@Record
class Comment {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer') ticketId!: number
  @BelongsTo(() => Ticket) ticket!: Rel<Ticket>
}
@Controller('/tickets', { crud: Ticket })
@NoAuth
class TicketController {
  static inject = [Database]
  constructor(private readonly database: Database) {}
  @Get('/figures') async figures() {
    const tickets = await this.database.records(Ticket).list({ limit: 5 })
    const figures = []
    for (const { id, title } of tickets)
      figures.push({
        title,
        comments: await this.database.records(Comment).count({ ticketId: id }),
      })
    return figures
  }
}

@Module({ controllers: [TicketController], records: [Ticket, Comment] })
class AppModule {}
await bootstrap(AppModule)
