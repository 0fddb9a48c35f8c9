// SPDX-License-Identifier: GPL-2.0
/* Rules of ethtool -N that choose the queue of a flow, as ixgbe has them: perfect filters of its Flow Director. */
#include <linux/ip.h>
#include <linux/slab.h>
#include <linux/udp.h>

#include "defects.h"
#include "vnet.h"

/* `deleted`: the defect, a rule that nobody is shown any more and that is still in force. */
struct rule {
	struct list_head list;
	struct ethtool_rx_flow_spec spec;
	bool deleted;
};

static struct rule *found(struct vnet *v, u32 location)
{
	struct rule *rule;

	list_for_each_entry(rule, &v->rules, list)
		if (!rule->deleted && rule->spec.location == location)
			return rule;
	return NULL;
}

static void forget(struct vnet *v, struct rule *rule)
{
	if (vcard_fault(v->port, VCARD_FAULT_RULE_STAYS)) {
		rule->deleted = true;
		return;
	}
	list_del(&rule->list);
	kfree(rule);
}

/* Every rule goes when the port goes down: ixgbe_close(), ixgbe_fdir_filter_exit(). */
void vnet_forget_rules(struct vnet *v)
{
	struct rule *rule, *next;

	spin_lock_bh(&v->rules_lock);
	list_for_each_entry_safe(rule, next, &v->rules, list)
		if (!rule->deleted)
			forget(v, rule);
	spin_unlock_bh(&v->rules_lock);
}

void vnet_free_rules(struct vnet *v)
{
	struct rule *rule, *next;

	list_for_each_entry_safe(rule, next, &v->rules, list)
		kfree(rule);
	INIT_LIST_HEAD(&v->rules);
}

static bool matches(const struct vnet *v, const struct ethtool_rx_flow_spec *spec, const struct iphdr *ip,
		    const struct udphdr *ports)
{
	const struct ethtool_tcpip4_spec *want = &spec->h_u.tcp_ip4_spec, *mask = &spec->m_u.tcp_ip4_spec;
	u8 protocol = spec->flow_type == UDP_V4_FLOW ? IPPROTO_UDP : IPPROTO_TCP;
	u32 ignored = defect_port_bits(vcard_fault(v->port, VCARD_FAULT_RULE_MASK_IGNORED));

	return ip->protocol == protocol && !((ip->saddr ^ want->ip4src) & mask->ip4src) &&
	       !((ip->daddr ^ want->ip4dst) & mask->ip4dst) &&
	       !(ntohs((ports->source ^ want->psrc) & mask->psrc) & ~ignored) &&
	       !(ntohs((ports->dest ^ want->pdst) & mask->pdst) & ~ignored);
}

/* The queue of the rule that a frame of TCP or UDP in IPv4 fits; negative: none. */
int vnet_ruled(struct vnet *v, const struct iphdr *ip, const struct udphdr *ports)
{
	struct rule *rule;
	int queue = -1;

	if (!(v->dev->features & NETIF_F_NTUPLE))
		return queue;
	spin_lock(&v->rules_lock);
	list_for_each_entry(rule, &v->rules, list)
		if (matches(v, &rule->spec, ip, ports)) {
			queue = rule->spec.ring_cookie;
			break;
		}
	spin_unlock(&v->rules_lock);
	return queue < (int)v->channels ? queue : -1;
}

static int count(struct vnet *v, u32 *locations, u32 room)
{
	struct rule *rule;
	u32 n = 0;

	list_for_each_entry(rule, &v->rules, list) {
		if (rule->deleted)
			continue;
		if (locations && n == room)
			return -EMSGSIZE;
		if (locations)
			locations[n] = rule->spec.location;
		n++;
	}
	return n;
}

int vnet_get_rules(struct vnet *v, struct ethtool_rxnfc *info, u32 *locations)
{
	struct rule *rule;
	int n = 0;

	info->data = v->model->rules;
	spin_lock_bh(&v->rules_lock);
	if (info->cmd == ETHTOOL_GRXCLSRULE) {
		rule = found(v, info->fs.location);
		n = rule ? 0 : -EINVAL;
		if (rule)
			info->fs = rule->spec;
	} else {
		n = count(v, info->cmd == ETHTOOL_GRXCLSRLALL ? locations : NULL, info->rule_cnt);
		if (n >= 0)
			info->rule_cnt = n;
	}
	spin_unlock_bh(&v->rules_lock);
	return min(n, 0);
}

static int insert(struct vnet *v, const struct ethtool_rx_flow_spec *spec)
{
	struct rule *rule, *old;

	if (!(v->dev->features & NETIF_F_NTUPLE))
		return -EOPNOTSUPP;
	if ((spec->flow_type != UDP_V4_FLOW && spec->flow_type != TCP_V4_FLOW) || spec->location >= v->model->rules ||
	    spec->ring_cookie >= v->channels)
		return -EINVAL;
	rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	if (!rule)
		return -ENOMEM;
	rule->spec = *spec;
	spin_lock_bh(&v->rules_lock);
	old = found(v, spec->location);
	if (old)
		forget(v, old);
	list_add_tail(&rule->list, &v->rules);
	spin_unlock_bh(&v->rules_lock);
	return 0;
}

int vnet_set_rxnfc(struct net_device *dev, struct ethtool_rxnfc *info)
{
	struct vnet *v = netdev_priv(dev);
	struct rule *rule;

	if (info->cmd == ETHTOOL_SRXCLSRLINS)
		return insert(v, &info->fs);
	if (info->cmd != ETHTOOL_SRXCLSRLDEL)
		return -EOPNOTSUPP;
	spin_lock_bh(&v->rules_lock);
	rule = found(v, info->fs.location);
	if (rule)
		forget(v, rule);
	spin_unlock_bh(&v->rules_lock);
	return rule ? 0 : -EINVAL;
}
