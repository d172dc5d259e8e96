/** A record with many rows, some of which refer to later ones. */
import { BelongsTo, Field, Module, Record, type Rel } from '../../src/index.js'

@Record
export class Line {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer', { nullable: true }) nextId!: number | null
  @BelongsTo(() => Line) next!: Rel<Line>
}

@Module({ records: [Line] })
export class AppModule {}
