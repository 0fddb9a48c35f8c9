"""The words of trouble in a Linux kernel log.

Wording: the sources of Linux 6.1, where nothing else is said. What the kernel calls an error of a card needs no word
here (:mod:`niclab.hosts.kernel.linux_trouble`); these are for lines without a level, as on a console, for warnings, and
for lines that name nobody.
"""

from __future__ import annotations

from niclab.hosts.kernel.trouble import TroubleKind

LIMITED = r"Gb/s available PCIe bandwidth, limited by ([0-9.]+) GT/s PCIe x([0-9]+) link"
"""pcie_print_link_status() in drivers/pci/pci.c: speed and width of the link that limits."""
RESET = "^(?:.*: )?Reset adapter"
"""Line of igb, igc and ixgbe, also when they clear what a lost link has left in the queues.

That is their way of working: ixgbe_watchdog_flush_tx() and igb_watchdog_task(). e1000e says it only where nothing has
asked for the reset.
"""
LINK_LOST = r"Link is (?:Down|down)|after link loss"
LINK_BACK = r"Link is (?:Up|up)"
NEWS = ("NIC Link is Down", "link partner doesn't support pause frames")
"""No trouble although a driver calls it an error: bnx2x does so (__bnx2x_link_report() in bnx2x_cmn.c), and sfc of a
partner's setting (efx_mcdi_phy_check_fcntl() in mcdi_port_common.c)."""
OF_FUNCTIONS = r"(?i:sr-?iov)|\bVFs?\b"
"""An error about virtual functions, which a driver adds to what the kernel has said of them."""
TASK = r"^task:\S.* state:D "
"""Line of SysRq w (sched_show_task() in kernel/sched/core.c)."""
WORDS: tuple[tuple[TroubleKind, tuple[str, ...]], ...] = (
    (TroubleKind.PANIC, ("Kernel panic - not syncing", "^Kernel panic: ")),
    (
        TroubleKind.OOPS,
        (
            r"\bOops\b",
            r"\bBUG: unable to handle",
            r"\bBUG: kernel NULL pointer",
            "[Kk]ernel BUG at ",
            "general protection fault(?! ip:)",  # "traps: NAME[PID] general protection fault ip:" is one of a program
            "Unable to handle kernel ",
            r"^Internal error: .{0,120}\[#[0-9]",
            "^PANIC: double fault",
            r"^(?:invalid opcode|divide error|double fault|stack segment|int3|bad frame): [0-9a-f]{4} \[#?[0-9]",
        ),
    ),
    (
        TroubleKind.LOCKUP,
        (
            "soft lockup",
            "hard LOCKUP",
            "detected LOCKUP on CPU",
            r"\brcu.*detected (?:expedited )?stall",
            r"\brcu.*kthread starved",
        ),
    ),
    (TroubleKind.HUNG_TASK, ("blocked for more than [0-9]+ seconds",)),
    (TroubleKind.BLOCKED_TASK, (TASK,)),
    (TroubleKind.BUG, (r"\bBUG: ",)),
    (
        TroubleKind.CORRUPTION,
        (
            r"^list_(?:add|del) (?:corruption|double add)",  # lib/list_debug.c
            "^refcount_t: ",  # lib/refcount.c
            r"^(?:slab|kfence|BUG) \S*: .*(?:Corruption|corruption|overwritten|[Uu]se-after-free)",
            "^Bad page state in process ",
        ),
    ),
    (TroubleKind.OUT_OF_MEMORY, ("^Out of memory: ", "invoked oom-killer")),
    (
        TroubleKind.MACHINE_CHECK,
        (r"\[Hardware Error\]: (?:Machine check|CPU |event severity)", "^Machine check events logged"),
    ),
    (
        TroubleKind.NMI,
        ("Uhhuh. NMI received", "NMI: (?:PCI system|IOCK|Not continuing)", "PCI system error \\(SERR\\)"),
    ),
    (TroubleKind.INTERRUPT_UNHANDLED, ("^irq [0-9]+: nobody cared", "^irq event [0-9]+: bogus return value")),
    (
        TroubleKind.IOMMU_FAULT,
        (
            r"\[(?:DMA (?:Read|Write)|INTR-REMAP)[^\]]{0,30}\] Request device \[",  # drivers/iommu/intel/dmar.c
            r"DMAR: ?\[",
            r"\[(?:IO_PAGE_FAULT|INVALID_DEVICE_REQUEST|ILLEGAL_DEV_TABLE_ENTRY|INVALID_PPR_REQUEST) ",  # amd/iommu.c
        ),
    ),
    (TroubleKind.CHECKSUM, (": hw csum failure",)),  # net/core/dev.c
    (TroubleKind.PCIE_LIMITED, (LIMITED,)),
    (
        TroubleKind.AER_UNCORRECTED,
        (
            r"AER: (?:Multiple )?Uncorrect(?:ed|able) \(",
            "severity=Uncorrect",
            r"^Error Severity\s*: Uncorrect",
            "DPC: containment event",  # drivers/pci/pcie/dpc.c: the port has cut off what is below it
        ),
    ),
    (
        TroubleKind.AER_CORRECTED,
        (
            "AER: (?:Multiple )?Correct(?:ed|able) error",
            "severity=Correct",
            r"^Error Severity\s*: Correct",
        ),
    ),
    (
        TroubleKind.DEVICE_LOST,
        (
            "device inaccessible",
            "config space inaccessible",
            "(?:Adapter|adapter|PCIe link|PCI device) (?:removed|lost|is gone)",
            "Refused to change power",
            "adapter does not answer, registers read as all ones",
            "PCI slot is unavailable",  # mlx5
        ),
    ),
    (
        TroubleKind.FIRMWARE_LOAD_FAILED,
        (
            r"[Ff]irmware load (?:for \S+ )?failed",
            "[Ff]ailed to load firmware",
            r"firmware: failed to load \S",  # Debian
            "[Uu]nable to load firmware ",
            "Can't load firmware file",
        ),
    ),
    (
        TroubleKind.PROBE_FAILED,
        (
            r"[Pp]robe of \S+ failed with error",
            r"probe with driver \S+ failed with error",
        ),
    ),
    (TroubleKind.PLUGGED_MODULE, ("failed to (?:load|initialize) because an unsupported SFP",)),  # ixgbe_main.c
    (
        TroubleKind.TRANSMIT_TIMEOUT,
        (
            "NETDEV WATCHDOG: ",
            "Detected (?:Hardware|Tx) Unit Hang",
            "[Tt]ransmit timed out",
            "Transmit timeout, status ",
            "TX timeout",
            r"\btx_timeout: VSI",  # i40e, iavf, ice
            "tx_timeout recovery unsuccessful",
            "initiating reset due to tx timeout",  # ixgbe
        ),
    ),
    (
        TroubleKind.WARNING,
        (
            "^WARNING: (?:CPU: |at |.* at )",
            # Of the checks of locks (kernel/locking/lockdep.c).
            "^WARNING: (?:possible |suspicious |inconsistent |bad unlock|(?:nested )?(?:held )?lock )",
            "^INFO: (?:possible |suspicious |inconsistent lock|trying to register non-static key)",
            "^UBSAN: ",
        ),
    ),
)

DEVICE_WORDS: tuple[tuple[TroubleKind, tuple[str, ...]], ...] = (
    (
        TroubleKind.FIRMWARE_CRASH,
        (
            # be2net (be_main.c, be_cmds.c); the first as older releases write it
            "Unrecoverable Error detected in the adapter",
            "Error detected in the (?:adapter|card)",
            "ERR: sliport ",
            r"UE: .{1,40} bit set",
            "ecoverable HW error",
            "FW not responding",
            "POST timeout; stage",
            "dapter in non recoverable error",
            # of bnx2x: bnx2x_main.c
            r"\b(?:MC|MCP) assert!",
            "STORM_ASSERT_(?:LIST_)?INDEX",
            "begin crash dump",
            "MFW seems hanged",
            "FW failed to respond",
            "FW final cleanup did not succeed",
            "MCP response failure",
            # of cxgb4: cxgb4_main.c, t4_hw.c
            "irmware reports adapter error",
            "FW assertion at ",
            "encountered fatal error, adapter stopped",
            "command 0x[0-9a-f]+ in mailbox [0-9]+ timed out",
            # of sfc: mcdi.c
            "MC reboot(?:ed| detected)",
            "MC command 0x[0-9a-f]+ .{0,40}timed out",
            "MC watchdog or assertion failure",
            "MCPU .{1,30} at PC = ",
            # of bnxt_en: bnxt.c, bnxt_hwrm.c
            "(?:Fatal|Non-fatal) firmware reset event",
            r"Abandoning msg \{.{0,40} due to firmware status",
            "Firmware not responding, status",
            # of mlx4, mlx5: catas.c, health.c
            "Internal error (?:detected|mark was detected)",
            "Health issue observed",
            "health compromised - reached miss count",
            "Fatal error [0-9]+ detected",
            # i40e, ice
            "Entering recovery mode due to repeated FW resets",
            "Firmware recovery mode detected",
            "MFW (?:is not responsive|failed to respond)",  # qed
            "firmware does not start",
        ),
    ),
    (
        TroubleKind.DEVICE_ERROR,
        (
            "FATAL (?:HW block|parity) attention",  # bnx2x
            "Parity errors detected in blocks",
            "FATAL error from ",
            "DMAE timeout!",
            "Fan (?:Failure on Network Controller|has stopped)",
            "over ?heated",  # ixgbe, igb
            "(?:FIFO parity error|uncorrectable ECC data error|MA parity error)",  # cxgb4
            "Hardware Error",
            "(?:NVM|EEPROM) Checksum Is Not Valid",  # e1000e, igb, ixgbe
            "DMA Q [0-9]+ reports descriptor fetch error",  # sfc
            "descriptor queue is stuck",
            "SYSTEM ERROR",
            "TX stuck with port_enabled",
            "timed out waiting for event queue",
            "Sensor [0-9]+ .{0,60}reports condition",
            "Malicious Driver Detection event",
            "doorbells? (?:drop|dropped)",  # bnxt_en, qed
            "Pause Storm detected",
            "(?:DMA|FLOW Attention|MSI) [Ss]tatus error",  # tg3
            "tg3_stop_block timed out",
            "HW (?:[Ii]nit|init) failed",
            "PF [Rr]eset polling failed",  # i40e, ice
            "Initial pf_reset failed",
            "PF reset failed",
            "forcing module to load in debug mode",
        ),
    ),
    (
        TroubleKind.DEVICE_RESET,
        (
            RESET,
            "PF reset issued",
            "(?:Resetting chip|does not start after a reset|device is going to be reset)",
            "dapter recovery (?:failed|in progress)",  # be2net
            "Re-trying adapter recovery",
            "Recovery (?:has )?failed",  # bnx2x
            "starting health recovery flow",  # mlx5
        ),
    ),
)
"""Trouble only where the line says which device it is of."""

ERRORS_OF_OTHERS: tuple[tuple[TroubleKind, tuple[str, ...]], ...] = (
    (
        TroubleKind.PLUGGED_MODULE,
        (
            "Unqualified SFP\\+ module detected",  # bnx2x_link.c
            "Power fault on Port [0-9]+ has been detected and the power to that SFP\\+ module",  # the same
            "Reload the driver after installing a supported module",  # ixgbe_main.c, after what WORDS have
            "disabled on this device because an unsupported SFP",  # i40e_handle_link_event() in i40e_main.c
            "Refer to the Intel.* for a list of supported modules",  # the same
            "The installed module is incompatible with the device's NVM image",  # ice_main.c
            "The module's power requirements exceed the device's power supply",  # the same
            r"Port module event\[error\]: ",  # port_module() in mlx5/core/events.c: cable and module alone
        ),
    ),
    (
        TroubleKind.PCI_RESOURCES,
        (
            "not enough MMIO resources for SR-IOV",  # drivers/pci/iov.c, as the next three
            r"can't enable [0-9]+ VFs \(bus [0-9a-f]+ out of range",
            "SR-IOV: bus number out of range",  # until 3.15
            "SR-IOV: IOV BARS not allocated",
            r"can't enable device: BAR [0-9]+ .*not (?:assigned|claimed)",  # pci_enable_resources() in pci/setup-res.c
            "Failed to enable PCI sriov: -12",  # ixgbe_sriov.c: ENOMEM of sriov_enable()
            "pci_enable_sriov failed with -12",  # bnx2x_sriov.c
            r"ARI not supported \(check pci bridge ARI forwarding\)",  # bnx2x_iov_init_one() in bnx2x_sriov.c
        ),
    ),
    # igb_watchdog_task() and igc_watchdog_task() wait for the far end's receiver: far end, cable or own transmitter
    (TroubleKind.LINK_PARTNER, ("exceed max 2 second",)),
)
"""Errors by the words of the kernel, and not of the device that they name, or of which nobody knows that."""
