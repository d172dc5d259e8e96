/** Sharded records without references, in the database that DATABASE_URL names. */
import { Field, Module, Record } from '../../../src/index.js'

@Record({ shardBy: 'tenantId' })
export class Parcel {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
}

@Record({ shardBy: 'tenantId' })
export class Letter {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
}

@Record({ shardBy: 'tenantId' })
export class Card {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') street!: string
}

@Module({ records: [Parcel, Letter, Card] })
export class AppModule {}
