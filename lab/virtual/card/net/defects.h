/* SPDX-License-Identifier: GPL-2.0 */
/* The arithmetic of defects. It needs nothing of the kernel but its types, so that a test runs it as well. */
#ifndef DEFECTS_H
#define DEFECTS_H

#define DEFECT_SECOND_NS 1000000000ULL

/* Bytes that are counted of a frame when `permille` of them are not; `owed` keeps what is no whole byte for the next. */
static inline u32 defect_bytes(u32 bytes, u32 permille, u32 *owed)
{
	u32 missing;

	*owed += bytes * (permille < 1000 ? permille : 1000);
	missing = *owed / 1000;
	*owed %= 1000;
	return bytes - missing;
}

/* The bits of a port that rules do not compare, the lowest `bits` ones. */
static inline u32 defect_port_bits(u32 bits)
{
	return (1U << (bits < 16 ? bits : 16)) - 1;
}

/* What a counter of so many bits shows; 0: of all that there are. */
static inline u64 defect_wrapped(u64 count, u32 bits)
{
	return bits && bits < 64 ? count & ((1ULL << bits) - 1) : count;
}

/* Is this second the bad one of `every`? */
static inline bool defect_burst(u64 second, u32 every)
{
	return every && second % every == 0;
}

/* When a frame due at `due` ns is handed over if nothing is in the first `ms` of each second. Keeps the order of frames. */
static inline u64 defect_late(u64 due, u32 ms)
{
	u64 into = due % DEFECT_SECOND_NS, until = ms * 1000000ULL;

	return into < until ? due - into + until : due;
}

/* What a cost has grown to after `ns` of a defect by which it grows by as much as it was in `seconds`; 0: it does not. */
static inline u64 defect_grown(u64 cost, u64 ns, u32 seconds)
{
	return seconds ? cost + cost * (ns / (DEFECT_SECOND_NS / 16)) / 16 / seconds : cost;
}

#endif
